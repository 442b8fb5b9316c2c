import type { Piece, Usage } from "../backends/backend.ts";
import { Deadline } from "./deadlines.ts";

type Pieces = AsyncGenerator<Piece, void, undefined>;

export interface Silence {
  /** Longest wait for the first piece that says something, from the call on, in milliseconds. */
  firstMs: number;
  /** Longest wait between two later ones. */
  idleMs: number;
  /** Longest that all of it may take, from the call on: a model that goes round in circles is never silent. */
  wholeMs: number;
}

/**
 * Opens a stream and waits for the first piece that says something, so that a failure before it can still be mended;
 * then gives the pieces without the empty start frames that were held back. A backend that is silent or goes on for too
 * long is aborted, which throws a 504. `ended` is told how the stream ended that had begun: null when it came to its end.
 */
export async function beginStream(
  open: () => Promise<Pieces>,
  silence: Silence,
  abort: AbortController,
  ended: (error: unknown) => void,
): Promise<Pieces> {
  const deadline = new Deadline(abort);
  const endsAt = performance.now() + silence.wholeMs;
  deadline.allow(Math.min(silence.firstMs, silence.wholeMs));
  let pieces: Pieces | null = null;
  try {
    pieces = await deadline.wait(open());
    let usage: Usage | null = null;
    let first = await deadline.wait(pieces.next());
    while (!first.done && !says(first.value)) {
      usage = first.value.usage ?? usage;
      first = await deadline.wait(pieces.next());
    }
    const rest = { pieces, deadline, idleMs: silence.idleMs, endsAt, ended };
    return resume(usage, first, rest);
  } catch (error) {
    deadline.stop();
    letGo(pieces);
    throw error;
  }
}

interface Rest {
  readonly pieces: Pieces;
  readonly deadline: Deadline;
  readonly idleMs: number;
  /** On the clock of `performance.now()`. */
  readonly endsAt: number;
  readonly ended: (error: unknown) => void;
}

async function* resume(usage: Usage | null, first: IteratorResult<Piece, void>, rest: Rest): Pieces {
  const { pieces, deadline, idleMs, endsAt, ended } = rest;
  try {
    // What was held back said nothing to the client, but may have told what the prompt came to.
    if (usage !== null) yield { choices: [], usage };
    for (let next = first; !next.done; ) {
      yield next.value;
      const left = endsAt - performance.now();
      if (left <= 0) deadline.end();
      deadline.allow(Math.min(idleMs, left));
      next = await deadline.wait(pieces.next());
    }
    ended(null);
  } catch (error) {
    ended(error);
    throw error;
  } finally {
    deadline.stop();
    letGo(pieces);
  }
}

/** Not awaited: a backend that hangs would hold up its own end. */
function letGo(pieces: Pieces | null): void {
  void pieces?.return().catch(() => {});
}

function says(piece: Piece): boolean {
  return piece.choices.some((choice) => choice.finish_reason !== null || Object.entries(choice.delta).some(isContent));
}

function isContent([name, value]: [string, unknown]): boolean {
  return name !== "role" && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}
