import type { Answer, Piece } from "../backends/backend.ts";

/** A whole answer as the pieces of a stream, so that a kept answer serves both forms. */
export async function* replay(answer: Answer): AsyncGenerator<Piece, void, undefined> {
  for (const { index, message, finish_reason, ...rest } of answer.choices) {
    const { role: _, ...delta } = message;
    yield { choices: [{ ...rest, index, delta, finish_reason: null }], usage: null };
    yield { choices: [{ index, delta: {}, finish_reason }], usage: null };
  }
  yield { choices: [], usage: answer.usage };
}
