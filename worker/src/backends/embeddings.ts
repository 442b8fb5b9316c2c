import { badRequest } from "../errors.ts";
import { type EmbedCall, upstreamError } from "./backend.ts";

/** Checks that a server sent one vector for each of `count` texts, all of the same length. */
export function readVectors(raw: unknown, count: number): number[][] {
  if (!Array.isArray(raw) || raw.length !== count || !raw.every(isVector)) {
    throw upstreamError("The model sent other vectors than one for each text.", "upstream_broken");
  }
  if (raw.some((vector) => vector.length !== raw[0]?.length)) {
    throw upstreamError("The model sent vectors of different lengths.", "upstream_broken");
  }
  return raw;
}

function isVector(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === "number");
}

/** Throws a 400 when the client wants vectors of another length than the model's. */
export function checkDimensions(call: EmbedCall, vectors: number[][]): void {
  const length = vectors[0]?.length ?? 0;
  if (call.dimensions === null || call.dimensions === length) return;
  throw badRequest(`This model's vectors have ${length} numbers, not ${call.dimensions}.`, "dimensions");
}

/** The input of a model that reads texts alone. */
export function textsOnly(call: EmbedCall): string[] {
  return call.input.map((item, index) => {
    if (typeof item === "string") return item;
    throw badRequest("This model takes texts, not tokens.", call.input.length === 1 ? "input" : `input[${index}]`);
  });
}
