import { InferenceError } from "./errors.ts";

/** One piece of work at a time: two that run in turns would both hold what a run needs. */
export class Turn {
  readonly #most: number;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** `most`: how many may be here at once, the running one among them; who comes then is told to come again. */
  constructor(most: number) {
    this.#most = most;
  }

  get waiting(): number {
    return this.#waiting;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting >= this.#most) throw new InferenceError(429, "busy", `${this.#most} requests wait already`);
    this.#waiting += 1;
    const mine = this.#last.then(work);
    this.#last = mine.catch(() => undefined);
    try {
      return await mine;
    } finally {
      this.#waiting -= 1;
    }
  }
}
