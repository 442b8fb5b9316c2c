/** Whether something was ended, and why: a `Switch`, or a signal of the platform's. */
export interface Ending {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
}

/** What ends something: a `Switch`, or a controller of the platform's. */
export interface Ender {
  readonly signal: Ending;
  abort(reason?: unknown): void;
}

/**
 * An end that is called for once. The platform's own controllers and listeners cost more than all that is done with
 * most of them, so that there is one only when the platform asks for it (`native`).
 */
export class Switch implements Ender, Ending {
  #aborted = false;
  #reason: unknown = undefined;
  #first: (() => void) | null = null;
  #others: Set<() => void> | null = null;
  #native: AbortController | null = null;

  /** One of its own that is called for with `ending` too. */
  static under(ending: Ending): Switch {
    const own = new Switch();
    if (ending.aborted) own.abort(ending.reason);
    else onAbort(ending, () => own.abort(ending.reason));
    return own;
  }

  get signal(): Ending {
    return this;
  }

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** Its signal for the platform's calls. */
  get native(): AbortSignal {
    if (this.#native === null) {
      this.#native = new AbortController();
      if (this.#aborted) this.#native.abort(this.#reason);
    }
    return this.#native.signal;
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  /** The first call counts. */
  abort(reason: unknown = new DOMException("The operation was aborted.", "AbortError")): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    this.#native?.abort(reason);
    const first = this.#first;
    this.#first = null;
    first?.();
    for (const hear of this.#others ?? []) hear();
  }

  /** Calls `hear` when it is called for; gives what takes that back. */
  onAbort(hear: () => void): () => void {
    if (this.#first === null) {
      this.#first = hear;
    } else {
      this.#others ??= new Set();
      this.#others.add(hear);
    }
    return () => {
      if (this.#first === hear) this.#first = null;
      else this.#others?.delete(hear);
    };
  }
}

/** Calls `hear` when an end is called for that was not yet; gives what takes that back. */
export function onAbort(signal: Ending, hear: () => void): () => void {
  if (signal instanceof Switch) return signal.onAbort(hear);
  const platform = signal as AbortSignal;
  platform.addEventListener("abort", hear, { once: true });
  return () => platform.removeEventListener("abort", hear);
}

/** The platform's signal of an end. */
export function native(signal: Ending): AbortSignal {
  return signal instanceof Switch ? signal.native : (signal as AbortSignal);
}
