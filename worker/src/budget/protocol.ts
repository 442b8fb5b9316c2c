import type { Limit, Over } from "./core.ts";

/**
 * What isolates and ledgers say to each other. Times are of the asking isolate's clock, in milliseconds since the
 * epoch, so that one clock decides when a lease ends; amounts are whole nanodollars.
 */

/** By what a ledger admits. It stands in the config or the key, so the ledger keeps none of it. */
export interface Terms {
  readonly limits: readonly Limit[];
  /** Who is told at 50, 80 and 100 %: the name of the secret with the URL, and how the message names the ledger. */
  readonly alerts: { readonly webhook: string; readonly stage: string; readonly scope: string } | null;
}

/** One request that asks to be admitted by itself. */
export interface Ask {
  /** Unique among all requests of all isolates. */
  readonly id: string;
  readonly now: number;
  readonly nanos: number;
  /** When the ledger stops waiting for its end, as its isolate must have died. */
  readonly until: number;
  /** Tokens that it may use, against `tokensPerMinute`; null: they are not counted. */
  readonly tokens: number;
  readonly tokensPerMinute: number | null;
  readonly terms: Terms;
}

export type Verdict =
  | { readonly admitted: true /** The second that its tokens were counted in. */; readonly second: number }
  | { readonly admitted: false; readonly over: readonly Over[] }
  /** Seconds until its tokens fit. */
  | { readonly admitted: false; readonly wait: number };

/** What some requests of one day, key, team and model came to. */
export interface SpendLine {
  readonly day: string;
  readonly key: string;
  readonly team: string;
  readonly model: string;
  requests: number;
  nanos: number;
  prompt: number;
  completion: number;
}

/** What an isolate has to tell since it last told: it counts once, however often it arrives. */
export interface Batch {
  readonly sequence: number;
  readonly lines: readonly SpendLine[];
  /** Requests admitted by themselves that have ended. */
  readonly ended: readonly string[];
  /** By how much the tokens of a second were other than asked for. */
  readonly corrections: readonly (readonly [second: number, change: number])[];
}

export interface Report {
  readonly isolate: string;
  /** Grows with each report, so that one that was overtaken changes no lease. */
  readonly version: number;
  readonly now: number;
  readonly batch: Batch | null;
  /** What the isolate holds: for requests on their way, and for those to come. */
  readonly busy: number;
  readonly idle: number;
  /** How much more it would like in advance, and what one request comes to. */
  readonly want: number;
  readonly each: number;
  readonly terms: Terms;
}

export interface Grant {
  /** Nanodollars to spend without asking, for `IDLE_MS`. */
  readonly granted: number;
}

/** The methods of the Durable Object, as an isolate calls them. */
export interface LedgerPort {
  reserve(ask: Ask): Promise<Verdict>;
  /** Counts one request; gives the seconds to wait, or 0 when it is admitted. */
  hit(now: number, perMinute: number): Promise<number>;
  report(report: Report): Promise<Grant>;
  spend(now: number): Promise<Spend>;
}

/** What was spent, by whom and on what, the dearest first; dollars. */
export interface Spend {
  readonly day: Total;
  readonly month: Total;
  readonly keys: readonly Share[];
  readonly teams: readonly Share[];
  readonly models: readonly Share[];
}

export interface Total {
  /** First day, and when the next period begins. */
  readonly start: string;
  readonly resets_at: string;
  readonly usd: number;
  readonly requests: number;
}

/** One key's, team's or model's part of the month. */
export interface Share {
  readonly name: string;
  readonly usd_day: number;
  readonly usd_month: number;
  readonly requests: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

/** How long a lease's idle part is held for an isolate that is not heard of. */
export const IDLE_MS = 60_000;
