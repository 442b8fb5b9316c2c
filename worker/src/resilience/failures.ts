import { ApiError } from "../errors.ts";

/** Why another version answered, as the header and the log say it. */
export type FallbackReason =
  | "rate_limited"
  | "quota_exceeded"
  | "timeout"
  | "circuit_open"
  | "unavailable"
  | "error"
  | "budget";

/** What a failed call to a backend calls for. */
export interface Failure {
  readonly error: ApiError;
  readonly reason: FallbackReason;
  /** Whether the same backend may do better when it is asked again at once. */
  readonly retry: boolean;
  /** Whether it speaks against the backend's health: being at a limit does not. */
  readonly sick: boolean;
}

/** Statuses that are about what the client sent: every backend would say the same. */
const CLIENTS_FAULT = new Set([400, 413, 422]);

/** What a call's failure calls for, or null when no other call would do better: the client's fault, or ours. */
export function failureOf(thrown: unknown): Failure | null {
  if (!(thrown instanceof ApiError) || CLIENTS_FAULT.has(thrown.status)) return null;
  const { status, lasting } = thrown;
  const is = (reason: FallbackReason, retry: boolean, sick: boolean): Failure => ({
    error: thrown,
    reason,
    retry,
    sick,
  });
  if (status === 429) {
    const spent = thrown.code === "upstream_quota_exceeded";
    return spent ? is("quota_exceeded", false, false) : is("rate_limited", !lasting, false);
  }
  // Who was waited for in vain once has had all the time that the client may be asked for.
  if (status === 504 || status === 408) return is("timeout", false, true);
  if (status === 501) return is("unavailable", false, false);
  if (lasting || status < 500) return is("unavailable", false, true);
  return is("error", true, true);
}

/** Milliseconds after which the backend wants to be asked again, or null when it didn't say. */
export function retryAfterMs(error: ApiError, now: number): number | null {
  const told = error.headers["retry-after"];
  if (told === undefined) return null;
  if (/^\d+(\.\d+)?$/.test(told)) return Number(told) * 1000;
  // The parser takes almost anything for a date; HTTP's begin with a weekday.
  const at = /^[A-Z][a-z]{2}, /.test(told) ? Date.parse(told) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
