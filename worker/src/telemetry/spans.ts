import type { GatewayConfig } from "../config.ts";
import type { RequestRecord } from "../record.ts";
import type { Trace } from "./trace.ts";

/** A request as OTLP's JSON has it: names of fields and of attributes are those of OpenTelemetry's conventions. */

interface Attribute {
  readonly key: string;
  readonly value: { stringValue: string } | { intValue: string } | { doubleValue: number } | { boolValue: boolean };
}

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Attribute[];
  readonly status: { code?: number; message?: string };
}

const KIND = { internal: 1, server: 2, client: 3 } as const;
const FAILED = 2;

/** What the access log knows of a request, as far as its span tells it. */
export interface Told {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly total_ms: number;
  readonly failed: boolean;
}

/** The spans of one request: its own, and one for each step below it. */
export function spansOf(record: RequestRecord, trace: Trace, told: Told): Span[] {
  const { traceId } = trace;
  const at = (clock: number) => record.startedAt + (clock - record.clockAt);
  const own: Span = {
    traceId,
    spanId: trace.spanId,
    ...(trace.parentId !== null && { parentSpanId: trace.parentId }),
    ...(trace.state !== null && { traceState: trace.state }),
    // A path that nobody serves may be anything, and a name should be one of few.
    name: told.status === 404 ? told.method : `${told.method} ${told.path}`,
    kind: KIND.server,
    startTimeUnixNano: nanos(record.startedAt),
    endTimeUnixNano: nanos(record.startedAt + told.total_ms),
    attributes: attributesOf(record, told),
    status: told.failed ? { code: FAILED, message: record.errorCode ?? "" } : {},
  };
  const steps = record.steps.map(({ name, start, ms }, index): Span => {
    const backend = name === "backend";
    return {
      traceId,
      spanId: backend ? trace.backendSpanId : childId(trace.spanId, index),
      parentSpanId: trace.spanId,
      name: backend ? `${operationOf(told.path)} ${record.model ?? ""}`.trimEnd() : name,
      kind: backend ? KIND.client : KIND.internal,
      startTimeUnixNano: nanos(at(start)),
      endTimeUnixNano: nanos(at(start) + ms),
      attributes: [],
      status: {},
    };
  });
  return [own, ...joinCalls(steps, trace, record.streamed ? own.endTimeUnixNano : null)];
}

function operationOf(path: string): string {
  if (path.endsWith("/embeddings")) return "embeddings";
  return path === "/v1/completions" ? "text_completion" : "chat";
}

/**
 * Calls to backends share one span id, so that theirs hang under it: their steps become one, from first to last. Of a
 * streamed answer the step is only its beginning: `end`, if given, is when the stream was over.
 */
function joinCalls(steps: readonly Span[], trace: Trace, end: string | null): Span[] {
  const calls = steps.filter(({ spanId }) => spanId === trace.backendSpanId);
  const last = calls.at(-1);
  const [first] = calls;
  if (first === undefined || last === undefined) return [...steps];
  const others = steps.filter((step) => !calls.includes(step));
  return [...others, { ...first, endTimeUnixNano: end ?? last.endTimeUnixNano }];
}

/** Ids of steps follow from the request's: whoever knows one can count on. */
function childId(spanId: string, index: number): string {
  const low = (Number.parseInt(spanId.slice(8), 16) + index + 1) % 0x1_0000_0000;
  return spanId.slice(0, 8) + low.toString(16).padStart(8, "0");
}

function attributesOf(record: RequestRecord, told: Told): Attribute[] {
  const { usage } = record;
  return attributes({
    "http.request.method": told.method,
    "url.path": told.path,
    "http.response.status_code": told.status,
    "error.type": record.errorCode,
    "gen_ai.operation.name": record.model && operationOf(told.path),
    "gen_ai.request.model": record.model,
    "gen_ai.response.model": record.fallback?.model ?? (record.model && `${record.model}@${record.version}`),
    "gen_ai.usage.input_tokens": usage?.prompt_tokens,
    "gen_ai.usage.output_tokens": usage?.completion_tokens,
    "gen_ai.response.time_to_first_chunk": double(record.ttftMs, 0.001),
    "sluiceway.request_id": record.id,
    "sluiceway.variant": record.variant,
    "sluiceway.cache": record.cache,
    "sluiceway.cost_usd": double(record.costUsd),
    "sluiceway.fallback_reason": record.fallback?.reason,
    "sluiceway.retries": record.retries || null,
    "sluiceway.streamed": record.streamed,
  });
}

type Value = string | number | boolean | { double: number } | null | undefined;

/** A number that may have a fraction; plain ones are whole. */
function double(value: number | null, factor = 1): Value {
  return value === null ? null : { double: value * factor };
}

function attributes(values: Record<string, Value>): Attribute[] {
  const list: Attribute[] = [];
  for (const [key, value] of Object.entries(values)) {
    if (value === null || value === undefined) continue;
    if (typeof value === "string") list.push({ key, value: { stringValue: value } });
    else if (typeof value === "boolean") list.push({ key, value: { boolValue: value } });
    else if (typeof value === "number") list.push({ key, value: { intValue: String(value) } });
    else list.push({ key, value: { doubleValue: value.double } });
  }
  return list;
}

/** Milliseconds since the epoch -> nanoseconds, as text: they are more than a number holds. */
function nanos(ms: number): string {
  return `${Math.round(ms * 1000)}000`;
}

/** The body of an export request. */
export function exportBody(config: GatewayConfig, workerVersion: string, spans: readonly Span[]): string {
  const resource = attributes({
    "service.name": config.worker,
    "service.version": config.release,
    "deployment.environment.name": config.stage,
    "cloud.provider": "cloudflare",
    "faas.version": workerVersion,
  });
  const scope = { name: "sluiceway" };
  return JSON.stringify({ resourceSpans: [{ resource: { attributes: resource }, scopeSpans: [{ scope, spans }] }] });
}
