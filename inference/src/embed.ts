import { InferenceError, textOf } from "./errors.ts";
import type { Loaded } from "./models.ts";
import { ort } from "./ort.ts";

/** Places of a batch, padding counted: what a run needs beside the weights grows with it. */
const PLACES = 512;
const OUTPUT = "sentence_embedding";

export interface Vectors {
  readonly vectors: Float32Array[];
  readonly tokens: number;
  /** Of those, words that the model doesn't know: two texts that differ in one have the same vector. */
  readonly unknown: number;
}

/** One vector for each text, in their order. A text of more than `limit` tokens is refused, not cut without a word. */
export async function embed(model: Loaded, texts: readonly string[], limit: number): Promise<Vectors> {
  const rows = texts.map((text, index) => ({ index, ids: model.tokenizer.encode(text, limit + 1) }));
  const long = rows.find(({ ids }) => ids.length > limit);
  if (long !== undefined)
    throw new InferenceError(
      413,
      "text_too_long",
      `Text ${long.index} has more than the ${limit} tokens that this model reads.`,
    );
  const vectors = new Array<Float32Array>(texts.length);
  for (const batch of batches(rows)) {
    const found = await run(
      model,
      batch.map(({ ids }) => ids),
    );
    for (const [at, { index }] of batch.entries()) vectors[index] = found[at] as Float32Array;
  }
  const ids = rows.flatMap((row) => row.ids);
  return { vectors, tokens: ids.length, unknown: ids.filter((id) => model.tokenizer.isUnknown(id)).length };
}

interface Row {
  readonly index: number;
  readonly ids: readonly number[];
}

/** Texts of like length together, so that little of a batch is padding. */
export function* batches(rows: readonly Row[]): Generator<Row[]> {
  const sorted = [...rows].sort((a, b) => a.ids.length - b.ids.length);
  let batch: Row[] = [];
  for (const row of sorted) {
    if (batch.length > 0 && (batch.length + 1) * row.ids.length > PLACES) {
      yield batch;
      batch = [];
    }
    batch.push(row);
  }
  if (batch.length > 0) yield batch;
}

async function run(model: Loaded, rows: readonly (readonly number[])[]): Promise<Float32Array[]> {
  const length = Math.max(...rows.map((row) => row.length));
  const ids = new BigInt64Array(rows.length * length);
  const mask = new BigInt64Array(rows.length * length);
  for (const [at, row] of rows.entries()) {
    for (const [place, id] of row.entries()) {
      ids[at * length + place] = BigInt(id);
      mask[at * length + place] = 1n;
    }
  }
  const shape = [rows.length, length];
  const inputs = {
    input_ids: new ort.Tensor("int64", ids, shape),
    attention_mask: new ort.Tensor("int64", mask, shape),
  };
  try {
    const output = (await model.session.run(inputs, [OUTPUT]))[OUTPUT] as ort.Tensor;
    const data = output.data as Float32Array;
    const width = data.length / rows.length;
    // Copied: the rest of the batch would live as long as one of its vectors.
    return rows.map((_, at) => data.slice(at * width, (at + 1) * width));
  } catch (error) {
    throw new InferenceError(500, "run_failed", `the model did not run: ${textOf(error)}`);
  }
}
