import type { Period } from "./periods.ts";

/** A budget as the ledger sees it: whole nanodollars in a period. */
export interface Limit {
  readonly period: Period;
  readonly nanos: number;
}

/** What a ledger knows at one moment, in nanodollars. */
export interface Sums {
  readonly day: number;
  readonly month: number;
  /** Held by requests on their way, and by isolates' leases. */
  readonly held: number;
  /** Part of `held` that isolates hold for requests to come. */
  readonly idle: number;
}

/** A limit that an amount doesn't fit; `index` is its place in the list that was asked about. */
export interface Over {
  readonly index: number;
  readonly spent: number;
  readonly held: number;
}

/** Shares of what is left that one isolate, and all together, may hold for requests to come. */
const LEASE_SHARE = 1 / 16;
const IDLE_SHARE = 1 / 4;
/** A lease that carries fewer requests than this is not worth its trouble: the remainder is small. */
const LEAST_REQUESTS = 4;

export const ALERT_PERCENTS = [50, 80, 100] as const;
/** From here on a refusal means that the budget is as good as used up. */
const NEARLY = 0.8;

export function spentIn(period: Period, sums: Sums): number {
  return period === "day" ? sums.day : sums.month;
}

/** The limits that `nanos` more would break; what is held counts as spent. Empty: it is admitted. */
export function limitsOver(limits: readonly Limit[], sums: Sums, nanos: number): Over[] {
  return limits.flatMap((limit, index) => {
    const spent = spentIn(limit.period, sums);
    return spent + sums.held + nanos > limit.nanos ? [{ index, spent, held: sums.held }] : [];
  });
}

/** Nanodollars that an isolate gets in advance: what it wants, but a small share of what is left, or nothing. */
export function leaseFor(limits: readonly Limit[], sums: Sums, want: number, each: number): number {
  if (limits.length === 0 || want <= 0) return 0;
  const left = Math.min(...limits.map((limit) => limit.nanos - spentIn(limit.period, sums) - sums.held));
  // Isolates that went quiet hold their leases for a while: together they must never shut out the others.
  const shared = Math.floor((left + sums.idle) * IDLE_SHARE) - sums.idle;
  const granted = Math.min(want, Math.floor(left * LEASE_SHARE), shared);
  return granted >= each * LEAST_REQUESTS ? granted : 0;
}

/** The share that a limit's alert is due for, 50, 80 or 100, or null. `refused`: a request has just not fitted it. */
export function percentDue(limit: Limit, sums: Sums, refused: boolean): number | null {
  const spent = spentIn(limit.period, sums);
  // A budget of nothing is a way to say no: it has no shares.
  if (limit.nanos === 0) return null;
  // Since a request must fit whole, a budget seldom ends at its last cent: the first refusal is its end.
  if (spent >= limit.nanos || (refused && spent >= limit.nanos * NEARLY)) return 100;
  return ALERT_PERCENTS.findLast((percent) => spent * 100 >= limit.nanos * percent) ?? null;
}
