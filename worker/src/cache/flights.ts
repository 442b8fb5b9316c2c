import type { Answer } from "../backends/backend.ts";
import { pause } from "../resilience/pause.ts";
import type { Route } from "../routing/route.ts";
import type { Ending } from "../switch.ts";

/** A leader that has been gone this long without a word was ended by the runtime. */
const LOST_MS = 60_000;
const FIRST_LOOK_MS = 5;
const LOOK_MS = 40;

/** An answer for all who wait. */
export interface Shared {
  readonly answer: Answer;
  /** The version that gave it. */
  readonly by: Route;
  /** Why it was not the version that was asked. */
  readonly fallback: { readonly model: string; readonly reason: string } | null;
}

/** How a leader ended: with an answer for all, with none that may be shared, or by leaving. */
type End = Shared | "alone" | "left";

interface Flight {
  readonly since: number;
  end: End | null;
}

/** What one request is to do: give this answer, or ask, alone or with others waiting for the outcome. */
export type Turn = Shared | { readonly leader: Leader } | "alone";

/** Held by the request that asks; the first word counts. */
export interface Leader {
  /** Its answer is also that of those who wait. */
  share(shared: Shared): void;
  /** It has none that others may have: they ask for themselves. `left`: nor was there any; one of them takes over. */
  end(left: boolean): void;
}

/**
 * Equal requests on their way in this isolate: one asks, the others wait for its answer. The runtime ties promises and
 * streams to the request that made them, so that those who wait look again and again at plain values.
 *
 * In one isolate only: KV can't be a lock (it remembers for a minute that a key wasn't there), and a Durable Object
 * would cost every miss a call, more than the few doubles of a location's isolates do.
 */
export class Flights {
  readonly #flights = new Map<string, Flight>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Leads if no one does, else waits, at most `patienceMs`, for the one who does. Throws the signal's reason. */
  async turn(key: string, patienceMs: number, signal: Ending): Promise<Turn> {
    let left = patienceMs;
    let look = FIRST_LOOK_MS;
    for (;;) {
      const flight = this.#flights.get(key);
      if (flight === undefined || this.#now() - flight.since > LOST_MS) return { leader: this.#lead(key) };
      while (flight.end === null && left > 0) {
        await pause(look, signal);
        left -= look;
        look = Math.min(2 * look, LOOK_MS);
      }
      if (flight.end === null || flight.end === "alone") return "alone";
      if (flight.end !== "left") return flight.end;
      // The next to look finds either no one in the lead, and leads, or the one who was quicker.
    }
  }

  #lead(key: string): Leader {
    const flight: Flight = { since: this.#now(), end: null };
    this.#flights.set(key, flight);
    const end = (how: End) => {
      if (flight.end !== null) return;
      flight.end = how;
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    };
    return { share: end, end: (left) => end(left ? "left" : "alone") };
  }
}
