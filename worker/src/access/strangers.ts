import { put } from "../bounded-map.ts";

/** Keys that nobody has heard of, from one address in one isolate: more than a client with a wrong key asks for. */
const MOST = 100;
const PERIOD_MS = 60_000;
const MOST_ADDRESSES = 1_000;

interface Tried {
  readonly since: number;
  count: number;
}

/** Who keeps making up keys: each costs the one object that knows the real ones a call. */
export class Strangers {
  readonly #now: () => number;
  readonly #tried = new Map<string, Tried>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Seconds for which no more keys from there are looked up; 0: they are. */
  waitFor(address: string): number {
    const tried = this.#tried.get(address);
    if (tried === undefined || tried.count < MOST) return 0;
    return Math.max(0, Math.ceil((tried.since + PERIOD_MS - this.#now()) / 1_000));
  }

  /** Notes a key that turned out to be none. */
  note(address: string): void {
    const now = this.#now();
    const tried = this.#tried.get(address);
    if (tried !== undefined && now - tried.since < PERIOD_MS) tried.count += 1;
    else put(this.#tried, address, { since: now, count: 1 }, MOST_ADDRESSES);
  }
}
