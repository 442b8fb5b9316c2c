/** Work that is done at once, a bounded number of it. What never says that it is over loses its place after a while. */
export class Places {
  readonly #most: number;
  readonly #longestMs: number;
  readonly #taken = new Set<{ readonly since: number }>();

  constructor(most: number, longestMs: number) {
    this.#most = most;
    this.#longestMs = longestMs;
  }

  /** Takes a place and gives what frees it; null when there is none. */
  take(now: number): (() => void) | null {
    for (const place of this.#taken) if (now - place.since > this.#longestMs) this.#taken.delete(place);
    if (this.#taken.size >= this.#most) return null;
    const place = { since: now };
    this.#taken.add(place);
    return () => void this.#taken.delete(place);
  }
}
