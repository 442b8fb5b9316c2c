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

/** The models of this isolate, by digest: loaded once however many ask at once, the longest unused given up first. */
export class Models {
  readonly #kept = new Map<string, Promise<Loaded>>();
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
    const kept = this.#kept.get(name);
    this.#kept.delete(name);
    const found = kept ?? this.#load(parts, [...this.#kept]);
    this.#kept.set(name, found); // last in the order of use
    try {
      return await found;
    } catch (error) {
      if (this.#kept.get(name) === found) this.#kept.delete(name);
      throw error;
    }
  }

  async #load({ graph, weights, tokenizer }: Parts, others: readonly [string, Promise<Loaded>][]): Promise<Loaded> {
    const bytes = [graph, ...weights].reduce((sum, file) => sum + file.bytes, 0);
    if (bytes > this.#limits.models) {
      const message = `${graph.key} and its weights have ${bytes} bytes, an isolate takes ${this.#limits.models}`;
      throw new InferenceError(422, "model_too_large", message);
    }
    await this.#makeRoom(bytes, others);
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
  async #makeRoom(bytes: number, others: readonly [string, Promise<Loaded>][]): Promise<void> {
    const loaded = await Promise.all(others.map(([, loading]) => loading.catch(() => null)));
    let taken = loaded.reduce((sum, one) => sum + (one?.bytes ?? 0), 0);
    for (const [at, one] of loaded.entries()) {
      if (this.#runtime.heapBytes() + bytes <= this.#limits.heap && taken + bytes <= this.#limits.models) return;
      this.#kept.delete((others[at] as [string, unknown])[0]);
      taken -= one?.bytes ?? 0;
      await one?.session.release();
    }
  }
}
