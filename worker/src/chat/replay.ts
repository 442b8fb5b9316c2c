import type { Answer, Piece } from "../backends/backend.ts";

/** A whole answer as the pieces of a stream, so that a kept answer serves both forms. */
export function replay(answer: Answer): Piece[] {
  const pieces: Piece[] = [];
  for (const { index, message, finish_reason, ...rest } of answer.choices) {
    const { role: _, ...delta } = message;
    pieces.push({ choices: [{ ...rest, index, delta, finish_reason: null }], usage: null });
    pieces.push({ choices: [{ index, delta: {}, finish_reason }], usage: null });
  }
  pieces.push({ choices: [], usage: answer.usage });
  return pieces;
}
