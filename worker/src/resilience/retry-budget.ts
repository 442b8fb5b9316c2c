/** Retries that may be made at once, in requests' worth of the share: enough for a backend that is asked rarely. */
const BURST = 50;

/**
 * Lets retries be only a share of requests: when all fail, a backend gets `1 + share` times the calls, not `attempts`
 * times, just when it can bear them least.
 */
export class RetryBudget {
  readonly #share: number;
  #left: number;

  constructor(share: number) {
    this.#share = share;
    this.#left = share * BURST;
  }

  /** A request's first call earns its share of a retry. */
  earn(): void {
    this.#left = Math.min(this.#share * BURST, this.#left + this.#share);
  }

  /** Whether a retry may be made; it is counted then. */
  spend(): boolean {
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
