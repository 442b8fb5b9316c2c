import { InferenceError } from "./errors.ts";

/** A file of a model version in R2. `bytes` is its length, `sha256` 64 hex digits. */
export interface FileRef {
  readonly name: string;
  readonly key: string;
  readonly sha256: string;
  readonly bytes: number;
}

/** What is used of R2. */
export interface Bucket {
  get(key: string): Promise<{
    readonly size: number;
    readonly body: { cancel(): Promise<void> };
    arrayBuffer(): Promise<ArrayBuffer>;
  } | null>;
}

/** The file's bytes, or an InferenceError: a file that isn't what was declared is never used. */
export async function download(bucket: Bucket, file: FileRef): Promise<Uint8Array<ArrayBuffer>> {
  const object = await bucket.get(file.key);
  if (object === null) throw new InferenceError(404, "artifact_not_found", `${file.key} has not been published`);
  if (object.size !== file.bytes) {
    await object.body.cancel();
    throw damaged(file, `it has ${object.size} bytes and not ${file.bytes}`);
  }
  const content = new Uint8Array(await object.arrayBuffer());
  const found = hex(await crypto.subtle.digest("SHA-256", content));
  if (found !== file.sha256) throw damaged(file, `its sha256 is ${found}`);
  return content;
}

function damaged(file: FileRef, how: string): InferenceError {
  return new InferenceError(422, "artifact_damaged", `${file.key} is not the file that was declared: ${how}`);
}

function hex(digest: ArrayBuffer): string {
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What of a version's files is used here: the graph, weights beside it, the tokenizer. */
export interface Parts {
  readonly graph: FileRef;
  readonly weights: readonly FileRef[];
  readonly tokenizer: FileRef;
}

export function partsOf(files: readonly FileRef[]): Parts {
  const named = (name: string): FileRef => {
    const found = files.find((file) => file.name === name);
    if (found === undefined) throw new InferenceError(422, "artifact_incomplete", `the version has no ${name}`);
    return found;
  };
  const weights = files.filter(({ name }) => /[._]data$/.test(name));
  return { graph: named("model.onnx"), weights, tokenizer: named("tokenizer.json") };
}
