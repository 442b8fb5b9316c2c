import { download, type FileRef } from "./artifact.ts";
import { InferenceError, textOf } from "./errors.ts";
import { heapBytes, open, type ort } from "./ort.ts";
import { WordPiece } from "./wordpiece.ts";

export interface Loaded {
  readonly session: ort.InferenceSession;
  readonly tokenizer: WordPiece;
  readonly bytes: number;
}

/** What of an isolate's 128 MB onnxruntime's heap may come to before a model is loaded beside another. */
export const HEAP_LIMIT = 96 * 1024 * 1024;
/** Of one model's file: its bytes are there twice while it is loaded. */
export const MODEL_LIMIT = 32 * 1024 * 1024;

/** The models of this isolate, by digest: loaded once however many ask at once, the longest unused one given up first. */
export class Models {
  readonly #kept = new Map<string, Promise<Loaded>>();
  readonly #bucket: R2Bucket;

  constructor(bucket: R2Bucket) {
    this.#bucket = bucket;
  }

  get count(): number {
    return this.#kept.size;
  }

  async get(model: FileRef, tokenizer: FileRef): Promise<Loaded> {
    const name = `${model.sha256} ${tokenizer.sha256}`;
    const kept = this.#kept.get(name);
    this.#kept.delete(name);
    const found = kept ?? this.#load(model, tokenizer);
    this.#kept.set(name, found); // last in the order of use
    try {
      return await found;
    } catch (error) {
      if (this.#kept.get(name) === found) this.#kept.delete(name);
      throw error;
    }
  }

  async #load(model: FileRef, tokenizer: FileRef): Promise<Loaded> {
    if (model.bytes > MODEL_LIMIT)
      throw new InferenceError(
        422,
        "model_too_large",
        `${model.key} has ${model.bytes} bytes, an isolate takes ${MODEL_LIMIT}`,
      );
    await this.#makeRoom(model.bytes);
    const words = new WordPiece(new TextDecoder().decode(await download(this.#bucket, tokenizer)));
    const content = await download(this.#bucket, model);
    try {
      return { session: await open(content), tokenizer: words, bytes: model.bytes };
    } catch (error) {
      throw new InferenceError(422, "model_unfit", `${model.key} can't be loaded: ${textOf(error)}`);
    }
  }

  /** The heap doesn't shrink, but what a released model had in it is used again. */
  async #makeRoom(bytes: number): Promise<void> {
    for (const [name, loading] of this.#kept) {
      const others = await sizes(this.#kept.values());
      if (others === 0 || (heapBytes() + bytes <= HEAP_LIMIT && others + bytes <= MODEL_LIMIT)) return;
      this.#kept.delete(name);
      await loading.then(({ session }) => session.release()).catch(() => undefined);
    }
  }
}

async function sizes(loading: Iterable<Promise<Loaded>>): Promise<number> {
  const settled = await Promise.allSettled(loading);
  return settled.reduce((sum, one) => sum + (one.status === "fulfilled" ? one.value.bytes : 0), 0);
}
