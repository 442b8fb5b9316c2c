import type { RequestRecord } from "../record.ts";
import type { Outcome } from "../rollout/types.ts";
import { affinityOf } from "../routing/affinity.ts";
import type { Evidence } from "./evidence.ts";
import { type Judged, judge } from "./judge.ts";

/** Digits of a client's digest: enough that two of one block are hardly ever taken for one. */
const CLIENT_DIGITS = 16;

const NOTHING_WRONG: Judged = { json: null, empty: false, refusal: false };

/** A short digest of whom a split sticks to. */
export function clientOf({ tenant }: RequestRecord, user: string): string {
  return affinityOf(tenant, user).slice(0, CLIENT_DIGITS);
}

/** A short digest of who called. */
export function callerOf({ tenant }: RequestRecord): string {
  return affinityOf(tenant, "");
}

/** By what a request is found again: its id, or that of its completion, which is the same with a word in front. */
export function ratedId(id: string): string {
  return id.replace(/^(chatcmpl-|cmpl-)/, "");
}

/**
 * What a request says of the version that it was routed to; null when that is nothing: an answer from a cache, a client
 * that left, a request that we turned down ourselves. `endedAt` in milliseconds since the epoch.
 */
export function outcomeOf(record: RequestRecord, evidence: Evidence, status: number, endedAt: number): Outcome | null {
  if (evidence.astray || record.cache === "hit" || record.cache === "semantic") return null;
  if (record.errorCode === "client_disconnected") return null;
  if (status >= 400 && !blamesModel(record)) return null;
  const failed = status >= 400 || evidence.faltered || hasFailed(record);
  const judged =
    failed || evidence.said === null ? NOTHING_WRONG : judge(evidence.said.answer, evidence.said.parameters);
  return {
    ...headOf(record, evidence),
    part: evidence.late ? "rest" : "whole",
    failed,
    first_token_ms: record.ttftMs,
    total_ms: endedAt - record.startedAt,
    tokens: record.usage?.completion_tokens ?? null,
    cost_usd: record.costUsd,
    ...judged,
    guard: record.guard?.hits.some((hit) => hit.startsWith("answer:")) ?? false,
  };
}

/**
 * What any request says of the worker version that served it, as of no model's; `known` is what it says of a model. Null:
 * nothing, for it was answered from a cache, or its client left.
 */
export function workerOutcomeOf(
  record: RequestRecord,
  known: Outcome | null,
  status: number,
  endedAt: number,
): Outcome | null {
  if (known !== null) return { ...known, model: "" };
  if (record.cache === "hit" || record.cache === "semantic" || record.errorCode === "client_disconnected") return null;
  const { errorCode, fallback, ttftMs, startedAt } = record;
  // Whoever has no budget left is sent to another model by design.
  const hasFaltered = hasFailed(record) && fallback?.reason !== "budget";
  return {
    ...{ model: "", version: 0, client: callerOf(record), at: startedAt, part: "whole", source: "live" },
    failed: status >= 500 || hasFaltered || (errorCode?.startsWith("upstream_") ?? false),
    ...{ first_token_ms: ttftMs, total_ms: endedAt - startedAt, tokens: null, cost_usd: null },
    ...{ ...NOTHING_WRONG, guard: false },
  };
}

/** What is known of a request that still runs. */
export function lateOutcomeOf(record: RequestRecord, evidence: Evidence, now: number): Outcome {
  return {
    ...headOf(record, evidence),
    ...{ part: "late", failed: false, first_token_ms: record.ttftMs, total_ms: now - record.startedAt },
    ...{ tokens: null, cost_usd: null, ...NOTHING_WRONG, guard: false },
  };
}

function headOf(record: RequestRecord, { model, version, user, probe }: Evidence) {
  // No two probes are one client's.
  const client = clientOf(record, probe ? record.id : user);
  return { model, version, client, at: record.startedAt, source: probe ? "probe" : "live" } as const;
}

/** Whether a refused request got as far as the model: its backend was asked, or was not fit to be. */
function blamesModel({ errorCode, timings }: RequestRecord): boolean {
  if (timings.backend !== undefined || errorCode === "context_length_exceeded") return true;
  return errorCode !== null && /^(upstream|backend)_/.test(errorCode);
}

/** Also when another version, an old answer or the stage's own text stood in for it. */
function hasFailed({ fallback, degraded, streamed, errorCode }: RequestRecord): boolean {
  return fallback !== null || degraded !== null || (streamed && errorCode !== null);
}
