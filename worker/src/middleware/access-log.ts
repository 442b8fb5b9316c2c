import type { GatewayContext, Layer } from "../gateway.ts";
import { tellOutcome } from "../outcomes/finish.ts";
import { Presence } from "../presence.ts";
import { type LogLine, lineOf } from "../telemetry/line.ts";
import { pointOf } from "../telemetry/point.ts";
import { spansOf } from "../telemetry/spans.ts";

/** Writes one line and one metrics point a request, and its spans: when its answer is complete, or its client gone. */
export function accessLog(): Layer {
  return {
    before(c) {
      c.set("presence", new Presence(c.req.raw.signal, c.executionCtx));
    },
    after(c) {
      const { status } = c.res;
      const { ended } = c.get("record");
      // A timer to write the line behind the answer would take as long as the line does.
      if (ended === null) finish(c, status);
      else void ended.then(() => finish(c, status));
    },
  };
}

function finish(c: GatewayContext, status: number): void {
  const endedAt = c.get("gateway").ambient.now();
  try {
    write(c, status, endedAt);
    tellOutcome(c, status, endedAt);
  } finally {
    c.get("presence").over();
  }
}

function write(c: GatewayContext, status: number, endedAt: number): void {
  const line = lineOf(c, status, endedAt);
  c.get("gateway").ambient.log(JSON.stringify(line));
  try {
    c.env.METRICS.writeDataPoint(pointOf(line));
  } catch {
    // Metrics are lost rather than the request.
  }
  exportSpans(c, line);
}

function exportSpans(c: GatewayContext, line: LogLine): void {
  const record = c.get("record");
  const gateway = c.get("gateway");
  const { spans } = gateway.telemetry;
  if (spans === null || !record.trace?.sampled) return;
  const told = spansOf(record, record.trace, { ...line, failed: line.level === "error" });
  spans.add(told, c.env, (work) => c.executionCtx.waitUntil(work));
}
