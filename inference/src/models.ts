import type { InferenceSession } from "onnxruntime-web/wasm";
import { type Bucket, download, type Parts } from "./artifact.ts";
import { InferenceError, textOf } from "./errors.ts";
import { WordPiece } from "./wordpiece.ts";

export interface Loaded {
  readonly session: InferenceSession;
  readonly tokenizer: WordPiece;
  readonly bytes: number;
}

/** onnxruntime, as this file needs it. */
export interface Runtime {
  open(graph: Uint8Array, weights: ReadonlyMap<string, Uint8Array>): Promise<InferenceSession>;
  heapBytes(): number;
}

/** In bytes. An isolate has 128 MB for everything. */
export interface Limits {
  /** What onnxruntime's heap may come to before a model is loaded beside another. */
  readonly heap: number;
  /** Of all models together: the bytes of one are there twice while it is loaded, those inside its graph four times. */
  readonly models: number;
}

const MIB = 1024 * 1024;
export const LIMITS: Limits = { heap: 88 * MIB, models: 32 * MIB };

/**
 * The models of this isolate, by digest; the longest unused given up first. For one caller at a time (`Turn`), so that
 * a model is loaded once however many ask at once.
 */
export class Models {
  readonly #kept = new Map<string, Loaded>();
  readonly #bucket: Bucket;
  readonly #runtime: Runtime;
  readonly #limits: Limits;

  constructor(bucket: Bucket, runtime: Runtime, limits: Limits = LIMITS) {
    this.#bucket = bucket;
    this.#runtime = runtime;
    this.#limits = limits;
  }

  get count(): number {
    return this.#kept.size;
  }

  async get(parts: Parts): Promise<Loaded> {
    const files = [parts.graph, ...parts.weights, parts.tokenizer];
    const name = files.map(({ sha256 }) => sha256).join(" ");
    const found = this.#kept.get(name) ?? (await this.#load(parts));
    this.#kept.delete(name);
    this.#kept.set(name, found); // last in the order of use
    return found;
  }

  async #load({ graph, weights, tokenizer }: Parts): Promise<Loaded> {
    const bytes = [graph, ...weights].reduce((sum, file) => sum + file.bytes, 0);
    if (bytes > this.#limits.models) {
      const message = `${graph.key} and its weights have ${bytes} bytes, an isolate takes ${this.#limits.models}`;
      throw new InferenceError(422, "model_too_large", message);
    }
    await this.#makeRoom(bytes);
    const words = new WordPiece(new TextDecoder().decode(await download(this.#bucket, tokenizer)));
    const content = await download(this.#bucket, graph);
    const beside = new Map<string, Uint8Array>();
    for (const file of weights) beside.set(file.name, await download(this.#bucket, file));
    try {
      return { session: await this.#runtime.open(content, beside), tokenizer: words, bytes };
    } catch (error) {
      throw new InferenceError(422, "model_unfit", `${graph.key} can't be loaded: ${textOf(error)}`);
    }
  }

  /** The heap doesn't shrink, but what a released model had in it is used again. */
  async #makeRoom(bytes: number): Promise<void> {
    let taken = [...this.#kept.values()].reduce((sum, one) => sum + one.bytes, 0);
    for (const [name, one] of this.#kept) {
      if (this.#runtime.heapBytes() + bytes <= this.#limits.heap && taken + bytes <= this.#limits.models) return;
      this.#kept.delete(name);
      taken -= one.bytes;
      await one.session.release();
    }
  }
}
