const SECONDS = 60;
/** One more than a minute has, since the oldest second may have begun up to a second before its first event. */
export const BUCKETS = SECONDS + 1;

/** What happened in the last minute, by the second: never more than the limit in any sixty seconds. */
export class SlidingWindow {
  readonly #sums = new Float64Array(BUCKETS);
  #newest = 0;

  /** Adds an amount, and gives the second that it was added to. */
  add(now: number, amount: number): number {
    this.#advance(now);
    this.#sums[this.#newest % BUCKETS] = this.at(this.#newest) + amount;
    return this.#newest;
  }

  /** Changes what was added in a second; false when that is over a minute ago. */
  correct(now: number, second: number, change: number): boolean {
    this.#advance(now);
    if (second > this.#newest || second <= this.#newest - BUCKETS) return false;
    this.#sums[second % BUCKETS] = Math.max(0, this.at(second) + change);
    return true;
  }

  /** What was added in a second of the last minute. */
  at(second: number): number {
    return this.#sums[((second % BUCKETS) + BUCKETS) % BUCKETS] ?? 0;
  }

  total(now: number): number {
    this.#advance(now);
    return this.#sums.reduce((sum, amount) => sum + amount, 0);
  }

  /** Whole seconds until `amount` more fits the limit: 0 when it does now. */
  waitFor(now: number, amount: number, limit: number): number {
    let excess = this.total(now) + amount - limit;
    for (let second = this.#newest - SECONDS; excess > 0 && second <= this.#newest; second++) {
      excess -= this.at(second);
      if (excess <= 0) return second + BUCKETS - this.#newest;
    }
    return excess > 0 ? BUCKETS : 0;
  }

  /** Clears the seconds that have passed. A clock that goes back adds to the newest one. */
  #advance(now: number): void {
    const second = Math.floor(now / 1_000);
    if (second - this.#newest >= BUCKETS) this.#sums.fill(0);
    else for (let passed = this.#newest + 1; passed <= second; passed++) this.#sums[passed % BUCKETS] = 0;
    this.#newest = Math.max(this.#newest, second);
  }
}
