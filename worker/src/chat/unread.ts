/**
 * Notices that a client has left a piece of its answer unread for longer than `ms`, and calls `stalled` once. One timer
 * serves a whole stream, which has thousands of pieces.
 */
export class Unread {
  readonly #ms: number;
  readonly #stalled: () => void;
  /** When the piece was given that the client has not come back from; null while it waits for the next one. */
  #since: number | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(ms: number, stalled: () => void) {
    this.#ms = ms;
    this.#stalled = stalled;
  }

  /** A piece is on its way to the client. */
  given(): void {
    this.#since = performance.now();
    if (this.#timer === null) this.#arm(this.#ms);
  }

  /** The client wants the next one. */
  read(): void {
    this.#since = null;
  }

  /** Nothing is given any more. */
  stop(): void {
    this.#since = null;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #arm(ms: number): void {
    this.#timer = setTimeout(() => this.#ring(), ms);
  }

  #ring(): void {
    this.#timer = null;
    // The model is slow, not the client: the next piece starts anew.
    if (this.#since === null) return;
    const left = this.#since + this.#ms - performance.now();
    // A millisecond's grace, for timers that round down.
    if (left > 1) this.#arm(left);
    else this.#stalled();
  }
}
