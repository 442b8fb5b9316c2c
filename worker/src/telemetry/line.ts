import type { GatewayContext } from "../gateway.ts";
import { maskForLog } from "../guard/mask.ts";
import type { RequestRecord } from "../record.ts";

/** What the log says of one request. Tools and queries read it by these names: add, never rename. */
export interface LogLine {
  readonly event: "request";
  readonly level: "info" | "error";
  readonly id: string;
  readonly trace_id: string | undefined;
  readonly key_id: string;
  readonly via: string | null;
  readonly team: string | null;
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly model: string | null;
  readonly version: number | null;
  readonly variant: string | null;
  readonly release: string;
  readonly worker_version: string | null;
  readonly stream: boolean;
  readonly cache: string | null;
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly prompt_tokens: number | null;
  readonly cached_tokens: number | null;
  readonly completion_tokens: number | null;
  readonly usage_estimated: boolean;
  readonly cost_usd: number | null;
  readonly ttft_ms: number | null;
  readonly total_ms: number;
  /** The version that answered in place of the chosen one, and why. */
  readonly fallback: string | null;
  readonly fallback_reason: string | null;
  /** What was given when no backend had an answer: `stale`, `default`. */
  readonly degraded: string | null;
  readonly retries: number;
  readonly guard: readonly string[];
  readonly guard_score: number | null;
  readonly rate_limiter: string | null;
  readonly error: string | null;
  /** Where hybrid routing sent it and why: `simple 0.93`. */
  readonly route: string | undefined;
  /** Why the guard's rules went on without the classifier that the stage names. */
  readonly guard_fault: string | undefined;
  /** Why a caller was not let in, which the caller itself is not told. */
  readonly refusal: string | undefined;
  readonly prompt: string | undefined;
}

const LONGEST_PATH = 200;
/** No shorter path has room for a key behind what we wrote of it. */
const LONGEST_OWN_PATH = 24;
const LONGEST_PROMPT = 32_000;

/** `endedAt`: when the answer was complete, in milliseconds since the epoch. */
export function lineOf(c: GatewayContext, status: number, endedAt: number): LogLine {
  const record = c.get("record");
  const gateway = c.get("gateway");
  const principal = c.get("principal");
  const { usage, fallback, guard } = record;
  // No spread among them: the runtime then defines each field behind it by itself. What is undefined is not written.
  return {
    event: "request",
    level: isFailure(status, record) ? "error" : "info",
    id: record.id,
    trace_id: record.trace?.traceId,
    // Nobody was let in: there is no caller to name.
    key_id: principal?.keyId ?? record.tenant.slice(0, 12),
    via: principal?.via ?? null,
    team: principal?.team ?? null,
    method: c.req.method,
    path: pathOf(c.req.path, status),
    status,
    model: record.model,
    version: record.version,
    variant: record.variant,
    release: gateway.config.release,
    worker_version: c.env.VERSION?.id ?? null,
    stream: record.streamed,
    cache: record.cache,
    bytes_in: record.bytesIn,
    bytes_out: record.bytesOut,
    prompt_tokens: usage?.prompt_tokens ?? null,
    cached_tokens: cachedTokens(usage),
    completion_tokens: usage?.completion_tokens ?? null,
    usage_estimated: record.usageEstimated,
    cost_usd: record.costUsd,
    ttft_ms: record.ttftMs,
    total_ms: endedAt - record.startedAt,
    fallback: fallback?.model ?? null,
    fallback_reason: fallback?.reason ?? null,
    degraded: record.degraded,
    retries: record.retries,
    guard: guard?.hits ?? [],
    guard_score: guard?.score ?? null,
    rate_limiter: record.rateLimiter,
    error: record.errorCode,
    route: record.route ?? undefined,
    guard_fault: record.guardFault ?? undefined,
    refusal: record.refusal ?? undefined,
    prompt: record.prompt === null ? undefined : promptOf(record.prompt),
  };
}

/** Cut to what the platform takes as one line. What is masked is a little more, so that no half of a secret is left. */
function promptOf(prompt: string): string {
  return maskForLog(prompt.slice(0, LONGEST_PROMPT + 1_000)).slice(0, LONGEST_PROMPT);
}

/** Ours or the model's failure, also one that a kept answer stands in for. A client that left, or asked wrongly, is none. */
function isFailure(status: number, { errorCode, streamed, degraded }: RequestRecord): boolean {
  if (status >= 500 || degraded !== null) return true;
  return streamed && errorCode !== null && errorCode !== "client_disconnected";
}

/**
 * A short path that was answered is as we wrote it; any other is the caller's text, and may hold a key: an id that is
 * deleted is answered whatever it is.
 */
function pathOf(path: string, status: number): string {
  return status >= 400 || path.length > LONGEST_OWN_PATH ? maskedPath(path) : path;
}

export function maskedPath(path: string): string {
  return maskForLog(path.slice(0, LONGEST_PATH));
}

function cachedTokens(usage: { [detail: string]: unknown } | null): number | null {
  const details = usage?.prompt_tokens_details as { cached_tokens?: unknown } | null | undefined;
  return typeof details?.cached_tokens === "number" ? details.cached_tokens : null;
}
