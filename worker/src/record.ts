import type { Usage } from "./backends/backend.ts";
import type { Evidence } from "./outcomes/evidence.ts";
import type { Soon } from "./soon.ts";
import type { Trace } from "./telemetry/trace.ts";

/** A step of the request as a trace shows it, on the clock of `performance.now()`. */
export interface Step {
  readonly name: string;
  readonly start: number;
  readonly ms: number;
}

/** `semantic`: the kept answer to nearly the same question. */
export type CacheOutcome = "hit" | "semantic" | "miss" | "bypass";

/** What one request turned out to be; middlewares fill it in, the access log writes it once at the end. */
export interface RequestRecord {
  readonly id: string;
  readonly startedAt: number;
  tenant: string;
  model: string | null;
  version: number | null;
  variant: string | null;
  cache: CacheOutcome | null;
  streamed: boolean;
  bytesIn: number;
  bytesOut: number;
  usage: Usage | null;
  usageEstimated: boolean;
  /** US dollars, by the version's price; null until it is settled. */
  costUsd: number | null;
  /** The version that answered in place of the one that was routed to, `chat-small@1`, and why. */
  fallback: { readonly model: string; readonly reason: string } | null;
  /** Where hybrid routing sent it and why, `simple 0.93`, `complex tools`. Null: its model has no such route. */
  route: string | null;
  /** What was given when no backend had an answer: an old one, or the stage's own. Null: a backend answered, or none did. */
  degraded: "stale" | "default" | null;
  /** Calls to backends beyond the first. */
  retries: number;
  /** What the guard found, by rule; the score of a prompt injection from 0 to 1. */
  guard: { readonly hits: readonly string[]; readonly score: number } | null;
  /** Why the guard's classifier could not be asked. */
  guardFault: string | null;
  ttftMs: number | null;
  errorCode: string | null;
  /** Why the caller was not let in; the caller is not told. */
  refusal: string | null;
  rateLimiter: "ok" | "failed" | null;
  /** Text of the prompt; filled only on a stage that logs prompts. */
  prompt: string | null;
  /** Milliseconds by step, for `server-timing`. */
  readonly timings: Record<string, number>;
  /** The request's place in a trace; null when nobody asked for one. */
  trace: Trace | null;
  /** The `traceparent` for calls to backends. */
  traceparent: string | null;
  /** Each step with its start; kept only when the trace is exported. */
  readonly steps: Step[];
  /** `performance.now()` at the request's start. */
  readonly clockAt: number;
  /** What it shows of a version on its way; null where no rollout counts it. */
  evidence: Evidence | null;
  /** Resolves when a streamed body has ended, in whatever way. */
  ended: Promise<void> | null;
}

export function newRecord(id: string, startedAt: number): RequestRecord {
  return {
    id,
    startedAt,
    tenant: "anonymous",
    model: null,
    version: null,
    variant: null,
    cache: null,
    streamed: false,
    bytesIn: 0,
    bytesOut: 0,
    usage: null,
    usageEstimated: false,
    costUsd: null,
    fallback: null,
    route: null,
    degraded: null,
    retries: 0,
    guard: null,
    guardFault: null,
    ttftMs: null,
    errorCode: null,
    refusal: null,
    rateLimiter: null,
    prompt: null,
    timings: {},
    trace: null,
    traceparent: null,
    steps: [],
    clockAt: performance.now(),
    evidence: null,
    ended: null,
  };
}

/** Runs a step of the request and notes how long it took, also when it fails. */
export function timed<T>(record: RequestRecord, step: string, work: () => Soon<T>): Soon<T> {
  const start = performance.now();
  let given: Soon<T> | null = null;
  try {
    given = work();
    return given instanceof Promise ? timedLater(record, step, start, given) : given;
  } finally {
    if (!(given instanceof Promise)) note(record, step, start);
  }
}

async function timedLater<T>(record: RequestRecord, step: string, start: number, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } finally {
    note(record, step, start);
  }
}

function note(record: RequestRecord, step: string, start: number): void {
  const ms = performance.now() - start;
  // A step may be taken more than once: a retry, another backend.
  record.timings[step] = (record.timings[step] ?? 0) + ms;
  if (record.trace?.sampled) record.steps.push({ name: step, start, ms });
}
