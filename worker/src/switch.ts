/** Those who hear of each of our own signals without an event: a listener of the platform's costs more than a call. */
const heard = new WeakMap<AbortSignal, Set<() => void>>();

/** An `AbortController` that few hear of by event, and many by `onAbort`. */
export class Switch implements AbortController {
  readonly #inner = new AbortController();
  readonly #hear = new Set<() => void>();
  readonly signal = this.#inner.signal;

  constructor() {
    heard.set(this.signal, this.#hear);
  }

  abort(reason?: unknown): void {
    if (this.signal.aborted) return;
    this.#inner.abort(reason);
    for (const hear of this.#hear) hear();
  }
}

/** Calls `hear` when a signal aborts that has not yet; gives what takes that back. */
export function onAbort(signal: AbortSignal, hear: () => void): () => void {
  const known = heard.get(signal);
  if (known !== undefined) {
    known.add(hear);
    return () => void known.delete(hear);
  }
  signal.addEventListener("abort", hear, { once: true });
  return () => signal.removeEventListener("abort", hear);
}
