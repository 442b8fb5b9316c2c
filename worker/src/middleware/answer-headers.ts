import type { GatewayContext, Layer } from "../gateway.ts";
import type { RequestRecord } from "../record.ts";
import { callerTraceparent } from "../telemetry/trace.ts";

/** Says on every answer who served it and what it took, also on a failure after routing. */
export function answerHeaders(): Layer {
  return { after: setHeaders };
}

function setHeaders(c: GatewayContext): void {
  const record = c.get("record");
  const gateway = c.get("gateway");
  const { headers } = c.res;
  headers.set("x-sluiceway-release", gateway.config.release);
  if (record.model !== null) {
    headers.set("x-sluiceway-model", record.fallback?.model ?? `${record.model}@${record.version}`);
    headers.set("x-sluiceway-variant", record.variant ?? "");
  }
  if (record.fallback !== null) {
    headers.set("x-sluiceway-fallback", `${record.fallback.model}; reason=${record.fallback.reason}`);
  }
  if (record.route !== null) headers.set("x-sluiceway-route", record.route.split(":")[0] as string);
  if (record.degraded !== null) headers.set("x-sluiceway-degraded", record.degraded);
  if (record.cache !== null) headers.set("x-sluiceway-cache", record.cache);
  const { threshold } = gateway.config.guard;
  if (record.guard !== null && record.guard.score > 0 && record.guard.score >= threshold) {
    headers.set("x-sluiceway-guard", "flagged");
  }
  headers.set("server-timing", stepsOf(record, gateway.ambient.now()));
}

/** Milliseconds by step, and of all together. */
function stepsOf(record: RequestRecord, now: number): string {
  let steps = "";
  for (const step in record.timings) steps += `${step};dur=${(record.timings[step] as number).toFixed(1)}, `;
  const total = `total;dur=${(now - record.startedAt).toFixed(1)}`;
  // A page's own tracing reads it from here: no script sees the headers of its navigation.
  const trace = record.trace === null ? "" : `, traceparent;desc="${callerTraceparent(record.trace)}"`;
  return steps + total + trace;
}
