import type { Piece } from "../../src/backends/backend.ts";
import { type Batch, Pieces } from "../../src/backends/pieces.ts";

/** The pieces of a generator, each by itself. */
export class PiecesOf extends Pieces {
  readonly #from: AsyncGenerator<Piece, void, undefined>;

  constructor(from: AsyncGenerator<Piece, void, undefined>) {
    super();
    this.#from = from;
  }

  async next(): Promise<Batch> {
    const next = await this.#from.next();
    return next.done ? { pieces: [], last: true } : { pieces: [next.value], last: false };
  }

  stop(): void {
    void this.#from.return().catch(() => {});
  }
}
