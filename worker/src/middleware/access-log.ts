import type { GatewayContext, GatewayMiddleware } from "../gateway.ts";

/** Writes one line and one metrics point a request: when its answer is complete, or its client gone. */
export function accessLog(): GatewayMiddleware {
  return async function accessLog(c, next) {
    const written = Promise.withResolvers<void>();
    // From the start: the runtime drops a request whose client leaves before the answer begins, and its line with it.
    c.executionCtx.waitUntil(written.promise);
    await next();
    const status = c.res.status;
    const finish = () => {
      write(c, status);
      written.resolve();
    };
    const { ended } = c.var.record;
    if (ended === null) finish();
    else void ended.then(finish);
  };
}

function write(c: GatewayContext, status: number): void {
  const line = describe(c, status);
  c.var.gateway.ambient.log(JSON.stringify(line));
  try {
    measure(c, line);
  } catch {
    // Metrics are lost rather than the request.
  }
}

type LogLine = ReturnType<typeof describe>;

function describe(c: GatewayContext, status: number) {
  const { record, gateway } = c.var;
  const { usage } = record;
  return {
    event: "request",
    level: status >= 500 || (record.streamed && record.errorCode !== null) ? "error" : "info",
    id: record.id,
    key_id: record.tenant.slice(0, 12),
    method: c.req.method,
    path: c.req.path.slice(0, 200),
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
    completion_tokens: usage?.completion_tokens ?? null,
    usage_estimated: record.usageEstimated,
    ttft_ms: record.ttftMs,
    total_ms: gateway.ambient.now() - record.startedAt,
    rate_limiter: record.rateLimiter,
    error: record.errorCode,
    ...(record.prompt !== null && { prompt: record.prompt }),
  };
}

/** Analytics Engine point; the order of blobs and doubles is what queries name them by, so it only ever grows. */
function measure(c: GatewayContext, line: LogLine): void {
  const labels = [line.model, String(line.version ?? ""), line.variant, line.release, line.worker_version, line.cache];
  c.env.METRICS.writeDataPoint({
    indexes: [(line.model ?? "none").slice(0, 24)],
    blobs: [...labels, line.error, line.method, line.key_id].map((label) => label ?? ""),
    doubles: [
      ...[line.status, line.total_ms, line.ttft_ms ?? -1, line.prompt_tokens ?? 0, line.completion_tokens ?? 0],
      ...[line.bytes_in, line.bytes_out, line.stream ? 1 : 0, line.usage_estimated ? 1 : 0],
    ],
  });
}
