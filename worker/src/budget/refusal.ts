import type { Budget } from "../config-policies.ts";
import { ApiError } from "../errors.ts";
import type { Over } from "./core.ts";
import { dollars, nanosOf } from "./money.ts";
import { endOf } from "./periods.ts";

/** Seconds after which a request that only others on their way stood against may be tried again. */
const SOON = 1;

/** The 402 of a request that doesn't fit a budget. Clients of OpenAI's kind go by `x-should-retry`. */
export function overBudget(budget: Budget, over: Over, nanos: number, now: number): ApiError {
  const resets = endOf(budget.period, now);
  const busy = isBusy(budget, over, nanos);
  const until = new Date(resets).toISOString();
  const headers = {
    "retry-after": String(busy ? SOON : Math.ceil((resets - now) / 1_000)),
    "x-should-retry": String(busy),
    "x-sluiceway-budget-reset": until,
  };
  const whose = budget.scope === "key" ? "this key" : `the ${budget.scope}`;
  const told = budget.scope === "key" ? figures(budget, over, nanos) : "";
  const message = `The budget of ${whose} for the ${budget.period} has no room for this request. ${told}${wayOut(budget, over, busy, until)}`;
  return new ApiError(402, "budget_exceeded", message, { headers });
}

/** What the caller can do. A smaller request helps only where something is left. */
function wayOut(budget: Budget, over: Over, busy: boolean, until: string): string {
  if (busy) return "Requests on their way hold the rest of it: try again shortly.";
  const smaller = over.spent < nanosOf(budget.usd) ? "; until then a smaller `max_tokens` may fit" : "";
  return `It begins anew at ${until}${smaller}.`;
}

/** Whether the request would fit if those on their way came to nothing. */
export function isBusy(budget: Budget, over: Over, nanos: number): boolean {
  return over.spent + nanos <= nanosOf(budget.usd);
}

/** Only a key's own: what a team or the stage spends is not each caller's to know. */
function figures(budget: Budget, over: Over, nanos: number): string {
  const spent = `${dollars(over.spent)} of ${dollars(nanosOf(budget.usd))} is spent`;
  return `${spent}, and this request may come to ${dollars(nanos)}. `;
}

export function overTokens(perMinute: number, wait: number): ApiError {
  const message = `More than ${perMinute} tokens in a minute.`;
  return new ApiError(429, "tokens_per_minute_exceeded", message, { headers: { "retry-after": String(wait) } });
}

/** A prompt that no minute has room for: waiting would not help. */
export function promptOverTokens(perMinute: number, promptTokens: number): ApiError {
  const message = `The prompt has about ${promptTokens} tokens, and this caller may use ${perMinute} in a minute.`;
  return new ApiError(400, "request_too_large", message, { param: "messages" });
}

/** Budgets promise that no more is spent, so that without their ledger nothing can be. */
export function ledgerUnavailable(cause: unknown): ApiError {
  const message = "The budget of this request can't be checked right now.";
  return new ApiError(503, "budget_unavailable", message, { cause, headers: { "retry-after": "2" } });
}
