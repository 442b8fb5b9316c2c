import { Switch } from "./switch.ts";

/**
 * Whether a request's client is still there. The runtime drops a request whose client has left as soon as nothing holds
 * it, and its log line with it. A hold costs more than most of what a request does here, so there is none before it is
 * needed: the runtime tells of the leaving first.
 */
export class Presence {
  /** Is called for when the client leaves. */
  readonly left = new Switch();
  readonly #ctx: ExecutionContext;
  readonly #unheard = new Set<Promise<unknown>>();
  #held: PromiseWithResolvers<void> | null = null;
  #isOver = false;

  constructor(signal: AbortSignal, ctx: ExecutionContext) {
    this.#ctx = ctx;
    if (signal.aborted) this.#leave(signal.reason);
    // Half as dear as a listener, and no one else listens.
    else signal.onabort = () => this.#leave(signal.reason);
  }

  /** Work that no answer waits for, and that most often is done before it. */
  behind(work: Promise<unknown>): void {
    if (this.#isOver) {
      this.#ctx.waitUntil(work);
      return;
    }
    this.#unheard.add(work);
    const heard = () => void this.#unheard.delete(work);
    work.then(heard, heard);
  }

  /** The answer is given and the line written. */
  over(): void {
    this.#isOver = true;
    for (const work of this.#unheard) this.#ctx.waitUntil(work);
    this.#held?.resolve();
  }

  #leave(reason: unknown): void {
    if (!this.#isOver) {
      this.#held = Promise.withResolvers();
      this.#ctx.waitUntil(this.#held.promise);
    }
    this.left.abort(reason);
  }
}
