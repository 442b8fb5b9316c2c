import type { Piece, Usage } from "../backends/backend.ts";
import { type Batch, Pieces } from "../backends/pieces.ts";
import type { Ender } from "../switch.ts";
import { Deadline } from "./deadlines.ts";

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
  abort: Ender,
  ended: (error: unknown) => void,
): Promise<Pieces> {
  const deadline = new Deadline(abort);
  const endsAt = performance.now() + silence.wholeMs;
  deadline.allow(Math.min(silence.firstMs, silence.wholeMs));
  let pieces: Pieces | null = null;
  try {
    pieces = await deadline.wait(open());
    let usage: Usage | null = null;
    for (;;) {
      const batch = await deadline.wait(pieces.next(true));
      const at = batch.pieces.findIndex(says);
      const silent = at === -1 ? batch.pieces : batch.pieces.slice(0, at);
      for (const piece of silent) usage = piece.usage ?? usage;
      if (at === -1 && !batch.last) continue;
      const told = at === -1 ? [] : batch.pieces.slice(at);
      // What is held back says nothing to the client, but may have told what the prompt came to.
      const first = { pieces: usage === null ? told : [{ choices: [], usage }, ...told], last: batch.last };
      return new Held(first, { pieces, deadline, idleMs: silence.idleMs, endsAt, ended });
    }
  } catch (error) {
    deadline.stop();
    pieces?.stop();
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

class Held extends Pieces {
  #first: Batch | null;
  readonly #rest: Rest;

  constructor(first: Batch, rest: Rest) {
    super();
    this.#first = first;
    this.#rest = rest;
  }

  async next(soon: boolean): Promise<Batch> {
    try {
      const batch = this.#takeFirst() ?? (await this.#wait(soon));
      if (batch.last) {
        this.#rest.deadline.stop();
        this.#rest.ended(null);
      }
      return batch;
    } catch (error) {
      this.#rest.ended(error);
      this.stop();
      throw error;
    }
  }

  stop(): void {
    this.#rest.deadline.stop();
    this.#rest.pieces.stop();
  }

  #takeFirst(): Batch | null {
    const first = this.#first;
    this.#first = null;
    return first;
  }

  #wait(soon: boolean): Promise<Batch> {
    const { pieces, deadline, idleMs, endsAt } = this.#rest;
    const left = endsAt - performance.now();
    if (left <= 0) deadline.end();
    deadline.allow(Math.min(idleMs, left));
    return deadline.wait(pieces.next(soon));
  }
}

function says(piece: Piece): boolean {
  return piece.choices.some((choice) => choice.finish_reason !== null || Object.entries(choice.delta).some(isContent));
}

function isContent([name, value]: [string, unknown]): boolean {
  return name !== "role" && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}
