import { ApiError } from "../errors.ts";
import { type Ender, onAbort } from "../switch.ts";

/**
 * Waits for one thing after another until a time that can be put off. When it passes, the work is aborted and the wait
 * ends in a 504; when the work is aborted by anyone else, the wait ends with that reason at once, also if the backend
 * takes no notice. One timer serves all waits: a stream has thousands.
 */
export class Deadline {
  readonly #abort: Ender;
  #due = Number.POSITIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #timerDue = 0;
  #fail: ((reason: unknown) => void) | null = null;

  constructor(abort: Ender) {
    this.#abort = abort;
    onAbort(abort.signal, () => this.#end(abort.signal.reason));
  }

  /** What is waited for from now on may take `ms` altogether. */
  allow(ms: number): void {
    this.#due = performance.now() + ms;
    if (this.#timer === null || this.#timerDue > this.#due) this.#arm();
  }

  wait<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#abort;
    return new Promise<T>((resolve, reject) => {
      this.#fail = reject;
      const over = () => {
        this.#fail = null;
      };
      work.then(
        (value) => {
          over();
          resolve(value);
        },
        (error) => {
          over();
          reject(error);
        },
      );
      if (signal.aborted) reject(signal.reason);
    });
  }

  /** The time is over, though nothing is waited for: the next wait ends at once. */
  end(): void {
    this.#abort.abort(new ApiError(504, "upstream_timeout", "The model did not answer in time."));
  }

  /** Nothing is waited for any more. */
  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #arm(): void {
    this.stop();
    this.#timerDue = this.#due;
    this.#timer = setTimeout(() => this.#ring(), Math.max(0, this.#due - performance.now()));
  }

  #ring(): void {
    this.#timer = null;
    // Nobody waits: the client is slow, not the backend. The next `allow` starts anew.
    if (this.#fail === null) return;
    // A millisecond's grace, for timers that round down.
    if (this.#due - performance.now() > 1) this.#arm();
    else this.end();
  }

  #end(reason: unknown): void {
    this.stop();
    this.#fail?.(reason);
  }
}

/** What the work gives, unless it takes longer than `ms`: then it is aborted and a 504 is thrown. */
export async function orAbort<T>(ms: number, abort: Ender, work: () => Promise<T>): Promise<T> {
  const deadline = new Deadline(abort);
  deadline.allow(ms);
  try {
    return await deadline.wait(work());
  } finally {
    deadline.stop();
  }
}
