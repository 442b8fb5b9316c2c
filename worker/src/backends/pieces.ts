import type { Piece } from "./backend.ts";

/** Pieces of a streamed answer that came together, in order. */
export interface Batch {
  readonly pieces: readonly Piece[];
  /** Whether they are the end of a whole answer: nothing is behind them. */
  readonly last: boolean;
}

/**
 * A streamed answer as it comes. One wait serves all pieces that came together, and what is done to them is done at
 * once: a stream has hundreds of pieces, and a promise for each at each step would cost more than all else.
 */
export abstract class Pieces {
  /**
   * The pieces that come next; to be called again when the batch before is there, until that was the last. `soon`: as
   * soon as there is one; else those behind it that are here already come along. Throws for a stream that breaks off.
   */
  abstract next(soon: boolean): Promise<Batch>;

  /** Ends it, wherever it is. */
  abstract stop(): void;

  /** Each piece by itself. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Piece, void, undefined> {
    try {
      for (;;) {
        const { pieces, last } = await this.next(true);
        yield* pieces;
        if (last) return;
      }
    } finally {
      this.stop();
    }
  }
}

/** Pieces that are all there. */
export class Given extends Pieces {
  readonly #pieces: readonly Piece[];

  constructor(pieces: readonly Piece[]) {
    super();
    this.#pieces = pieces;
  }

  async next(): Promise<Batch> {
    return { pieces: this.#pieces, last: true };
  }

  stop(): void {}
}

/** Pieces with something done to each batch of them. */
export class Passed extends Pieces {
  readonly #from: Pieces;
  readonly #pass: (batch: Batch) => Batch;

  constructor(from: Pieces, pass: (batch: Batch) => Batch) {
    super();
    this.#from = from;
    this.#pass = pass;
  }

  async next(soon: boolean): Promise<Batch> {
    return this.#pass(await this.#from.next(soon));
  }

  stop(): void {
    this.#from.stop();
  }
}
