import type { Piece } from "../backends/backend.ts";

/**
 * Waits for the first piece that says something, so that a failure before it still gets a real status; then gives the
 * pieces without the empty start frames that were held back.
 */
export async function holdFirst(
  pieces: AsyncGenerator<Piece, void, undefined>,
): Promise<AsyncGenerator<Piece, void, undefined>> {
  let first = await pieces.next();
  while (!first.done && !says(first.value)) first = await pieces.next();
  return resume(first, pieces);
}

async function* resume(
  first: IteratorResult<Piece, void>,
  pieces: AsyncGenerator<Piece, void, undefined>,
): AsyncGenerator<Piece, void, undefined> {
  try {
    if (!first.done) yield first.value;
    yield* pieces;
  } finally {
    void pieces.return().catch(() => {});
  }
}

function says(piece: Piece): boolean {
  if (piece.usage !== null) return true;
  return piece.choices.some((choice) => choice.finish_reason !== null || Object.entries(choice.delta).some(isContent));
}

function isContent([name, value]: [string, unknown]): boolean {
  return name !== "role" && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}
