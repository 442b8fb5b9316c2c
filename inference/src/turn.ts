import { InferenceError } from "./errors.ts";

/** A request is dropped by the platform by then, whatever it was doing. */
const STUCK_MS = 30_000;
const LOOK_MS = 4;

/** Who is here. `seen`: when it last did something, in milliseconds. */
interface Here {
  seen: number;
}

/**
 * One piece of work at a time: two that run in turns would both hold what a run needs. What requests share are plain
 * values: a promise dies with the request that made it, and whoever waits for it waits for good.
 */
export class Turn {
  readonly #most: number;
  readonly #now: () => number;
  /** In the order in which they came: the first has the turn. */
  readonly #here = new Set<Here>();

  /** `most`: how many may be here at once, the running one among them; who comes then is told to come again. */
  constructor(most: number, now: () => number = Date.now) {
    this.#most = most;
    this.#now = now;
  }

  get waiting(): number {
    return this.#here.size;
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    const me = { seen: this.#now() };
    this.#dropTheGone();
    if (this.#here.size >= this.#most) throw new InferenceError(429, "busy", `${this.#most} requests wait already`);
    this.#here.add(me);
    try {
      while (this.#first() !== me) {
        await pause();
        me.seen = this.#now();
        this.#dropTheGone();
      }
      return await work();
    } finally {
      this.#here.delete(me);
    }
  }

  #first(): Here | undefined {
    return this.#here.values().next().value;
  }

  #dropTheGone(): void {
    for (const one of this.#here) if (this.#now() - one.seen > STUCK_MS) this.#here.delete(one);
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, LOOK_MS));
}
