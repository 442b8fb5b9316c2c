import type { GatewayContext } from "../gateway.ts";
import { maskedPath } from "./line.ts";
import { framesOf } from "./sentry.ts";

/**
 * Tells the log, and Sentry where the stage has one, of a failure that nobody foresaw: by name and place, not by its
 * text, which may quote the prompt.
 */
export function reportException(c: GatewayContext, error: unknown): void {
  const record = c.get("record");
  const gateway = c.get("gateway");
  const thrown = error instanceof Error ? error : new Error("not an error");
  gateway.ambient.log(
    JSON.stringify({
      event: "exception",
      level: "error",
      id: record.id,
      // Tells which bundle the places are in, and so which source map.
      release: gateway.config.release,
      ...(record.trace !== null && { trace_id: record.trace.traceId }),
      name: error instanceof Error ? thrown.name : typeof error,
      frames: framesOf(thrown).slice(0, 8),
    }),
  );
  const { SENTRY_DSN: dsn } = c.env;
  if (gateway.telemetry.sentry === null || !dsn) return;
  const around = {
    stage: gateway.config.stage,
    release: gateway.config.release,
    workerVersion: c.env.VERSION?.id ?? "",
    requestId: record.id,
    method: c.req.method,
    path: maskedPath(c.req.path),
    model: record.model && `${record.model}@${record.version}`,
    variant: record.variant,
    trace: record.trace,
  };
  c.executionCtx.waitUntil(gateway.telemetry.sentry.report(dsn, error, around));
}
