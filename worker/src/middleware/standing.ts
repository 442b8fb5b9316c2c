import { put } from "../bounded-map.ts";

/** How long one good word of the limiter's stands. */
const GOOD_MS = 1_000;
/** The share of the limit up to which an isolate lets a caller's requests in on that word. */
const FAR_FROM_LIMIT = 0.5;
/** Callers remembered; the one who was new longest ago goes first. */
const MOST_CALLERS = 10_000;

interface Caller {
  since: number;
  requests: number;
  goodUntil: number;
}

/**
 * Who is far enough from the platform's limit that a request needn't wait for its word: the limiter has just said yes,
 * and this isolate alone has let in less than half of the limit in this period. It is asked all the same, so that every
 * request counts, and its first no makes the next one wait again.
 */
export class Standing {
  readonly #limit: number;
  readonly #periodMs: number;
  readonly #callers = new Map<string, Caller>();

  /** `requests` in `period` seconds. */
  constructor({ requests, period }: { requests: number; period: number }) {
    this.#limit = requests * FAR_FROM_LIMIT;
    this.#periodMs = period * 1_000;
  }

  /** Counts a request, and tells whether it may go on at once. */
  isGood(key: string, now: number): boolean {
    const caller = this.#callers.get(key) ?? this.#begin(key, now);
    if (now - caller.since >= this.#periodMs) {
      caller.since = now;
      caller.requests = 0;
    }
    caller.requests++;
    return now < caller.goodUntil && caller.requests < this.#limit;
  }

  /** What the limiter has said of a caller: null when it failed. */
  heard(key: string, now: number, admitted: boolean | null): void {
    const caller = this.#callers.get(key);
    if (caller !== undefined) caller.goodUntil = admitted === true ? now + GOOD_MS : 0;
  }

  #begin(key: string, now: number): Caller {
    const caller = { since: now, requests: 0, goodUntil: 0 };
    put(this.#callers, key, caller, MOST_CALLERS);
    return caller;
  }
}
