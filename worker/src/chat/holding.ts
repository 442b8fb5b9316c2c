import type { Answer, Usage } from "../backends/backend.ts";
import { type Reservation, reserve } from "../budget/reserve.ts";
import { ApiError } from "../errors.ts";
import { timed } from "../record.ts";
import type { Route } from "../routing/route.ts";
import type { Soon } from "../soon.ts";
import { estimateUsage } from "../tokens/estimate.ts";
import { legOf, type Trip } from "./trip.ts";

/** Faster than any model that is served: what a call may have said before its client left. */
const MOST_TOKENS_PER_MS = 0.25;

/**
 * What a request holds of its budgets: for one version at a time, since each has its price. Whatever becomes of the
 * request, exactly one of `settle`, `abandon` and `release` counts, the first.
 */
export class Holding {
  readonly #trip: Trip;
  #route: Route;
  #reservation: Reservation;
  /** When the call that runs began, on the gateway's clock; null between calls. */
  #callSince: number | null = null;
  #over = false;

  private constructor(trip: Trip, reservation: Reservation) {
    this.#trip = trip;
    this.#route = trip.chain.first;
    this.#reservation = reservation;
  }

  /** Reserves for the first version of the trip. Throws the 402 or 429 of a budget that is spent. */
  static open(trip: Trip): Soon<Holding> {
    const reserved = reserveAt(trip, trip.chain.first);
    if (reserved instanceof Promise) return reserved.then((reservation) => new Holding(trip, reservation));
    return new Holding(trip, reserved);
  }

  /** The cheaper model that the request is to go to instead. */
  get insteadOf(): string | null {
    return this.#reservation.insteadOf ?? null;
  }

  /** Reserves for this version in place of the one before. Throws when its budget doesn't allow it. */
  moveTo(route: Route): Soon<void> {
    if (route !== this.#route) return this.#moveTo(route);
  }

  async #moveTo(route: Route): Promise<void> {
    this.#reservation.release();
    this.#route = route;
    this.#reservation = await reserveAt(this.#trip, route);
    if (!this.#reservation.insteadOf) return;
    this.#reservation.release();
    throw budgetSpent();
  }

  /** Runs a call, so that one whose client leaves is known to have cost something. */
  async during<T>(call: () => Promise<T>): Promise<T> {
    this.#callSince = this.#trip.c.get("gateway").ambient.now();
    try {
      return await call();
    } catch (error) {
      // A failed call costs nothing, but one that was given up half-way had begun to.
      if (!this.#trip.abort.signal.aborted) this.#callSince = null;
      throw error;
    }
  }

  /** Books an answer, whole or as far as it came, and notes it in the record. */
  settle(answer: Answer): Usage {
    const record = this.#trip.c.get("record");
    const usage = answer.usage ?? estimateUsage(legOf(this.#trip, this.#route).messages, answer);
    if (this.#over) return record.usage ?? usage;
    this.#book(usage);
    return usage;
  }

  /** Ends what the request holds when it has no answer: dear for a client that left while a call ran, else for free. */
  abandon(): void {
    if (this.#over) return;
    const { abort, c } = this.#trip;
    if (!abort.signal.aborted || this.#callSince === null) {
      this.release();
      return;
    }
    const { promptTokens, mostTokens } = legOf(this.#trip, this.#route);
    // Nothing was told of what the model has said: as much as it could have, so that leaving early never pays.
    const could = Math.ceil((c.get("gateway").ambient.now() - this.#callSince) * MOST_TOKENS_PER_MS);
    const said = Math.min(could, mostTokens);
    const total = promptTokens + said;
    this.#book({ prompt_tokens: promptTokens, completion_tokens: said, total_tokens: total, estimated: true });
  }

  release(): void {
    this.#over = true;
    this.#reservation.release();
  }

  #book(usage: Usage): void {
    const record = this.#trip.c.get("record");
    this.#over = true;
    record.usage = usage;
    record.usageEstimated = usage.estimated === true;
    record.costUsd = (record.costUsd ?? 0) + this.#reservation.settle(usage, this.#route.spec);
  }
}

/** When each budget that is used up names another model, and none of them is within budget. */
export function budgetSpent(): ApiError {
  return new ApiError(402, "budget_exceeded", "The budget is used up, and no model that it falls to may answer.");
}

/** Reserves what the request may come to at most with this version. */
function reserveAt(trip: Trip, route: Route): Soon<Reservation> {
  return timed(trip.c.get("record"), "budget", () => reserve(trip.c, legOf(trip, route)));
}
