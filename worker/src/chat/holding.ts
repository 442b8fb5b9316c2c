import type { Answer, Usage } from "../backends/backend.ts";
import { type Reservation, reserve } from "../budget/reserve.ts";
import { ApiError } from "../errors.ts";
import { timed } from "../record.ts";
import type { Route } from "../routing/route.ts";
import { estimateTokens, estimateUsage, textOf } from "../tokens/estimate.ts";
import { maxTokensAt, messagesTo, type Trip } from "./trip.ts";

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
  static async open(trip: Trip): Promise<Holding> {
    return new Holding(trip, await reserveAt(trip, trip.chain.first));
  }

  /** The cheaper model that the request is to go to instead. */
  get insteadOf(): string | null {
    return this.#reservation.insteadOf ?? null;
  }

  /** Reserves for this version in place of the one before. Throws when its budget doesn't allow it. */
  async moveTo(route: Route): Promise<void> {
    if (route === this.#route) return;
    this.#reservation.release();
    this.#route = route;
    this.#reservation = await reserveAt(this.#trip, route);
    if (!this.#reservation.insteadOf) return;
    this.#reservation.release();
    throw new ApiError(402, "budget_exceeded", "The budget does not allow this version.");
  }

  /** Runs a call, so that one whose client leaves is known to have cost something. */
  async during<T>(call: () => Promise<T>): Promise<T> {
    this.#callSince = this.#trip.c.var.gateway.ambient.now();
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
    const { record } = this.#trip.c.var;
    const usage = answer.usage ?? estimateUsage(messagesTo(this.#trip.request, this.#route), answer);
    if (this.#over) return record.usage ?? usage;
    this.#book(usage);
    return usage;
  }

  /** Ends what the request holds when it has no answer: dear for a client that left while a call ran, else for free. */
  abandon(): void {
    if (this.#over) return;
    const { abort, c, request } = this.#trip;
    if (!abort.signal.aborted || this.#callSince === null) {
      this.release();
      return;
    }
    // Nothing was told of what the model has said: as much as it could have, so that leaving early never pays.
    const most = Math.ceil((c.var.gateway.ambient.now() - this.#callSince) * MOST_TOKENS_PER_MS);
    const nothing = estimateUsage(messagesTo(request, this.#route), { choices: [], usage: null });
    const said = Math.min(most, maxTokensAt(request, this.#route));
    this.#book({ ...nothing, completion_tokens: said, total_tokens: nothing.prompt_tokens + said });
  }

  release(): void {
    this.#over = true;
    this.#reservation.release();
  }

  #book(usage: Usage): void {
    const { record } = this.#trip.c.var;
    this.#over = true;
    record.usage = usage;
    record.usageEstimated = usage.estimated === true;
    record.costUsd = this.#reservation.settle(usage, this.#route.spec);
  }
}

/** Reserves what the request may come to at most with this version. */
function reserveAt({ c, request }: Trip, route: Route): Promise<Reservation> {
  const promptTokens = messagesTo(request, route).reduce(
    (sum, { content }) => sum + estimateTokens(textOf(content)),
    0,
  );
  const worst = { promptTokens, maxTokens: maxTokensAt(request, route), spec: route.spec };
  return timed(c.var.record, "budget", () => reserve(c, worst));
}
