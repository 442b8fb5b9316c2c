import type { LogLine } from "./line.ts";

/**
 * The Analytics Engine point of a request. Queries name blobs and doubles by their place, and old points stay: each
 * list only ever grows at its end. Most is 20 of each.
 */
export function pointOf(line: LogLine): AnalyticsEngineDataPoint {
  return {
    indexes: [(line.model ?? "none").slice(0, 24)],
    blobs: [
      line.model ?? "",
      String(line.version ?? ""),
      line.variant ?? "",
      line.release,
      line.worker_version ?? "",
      line.cache ?? "",
      line.error ?? "",
      line.method,
      line.key_id,
      line.team ?? "",
      line.fallback ?? "",
      line.fallback_reason ?? "",
      line.guard.join(" ").slice(0, 200),
      line.path,
      line.degraded ?? "",
    ],
    doubles: [
      line.status,
      line.total_ms,
      line.ttft_ms ?? -1,
      line.prompt_tokens ?? 0,
      line.completion_tokens ?? 0,
      line.bytes_in,
      line.bytes_out,
      line.stream ? 1 : 0,
      line.usage_estimated ? 1 : 0,
      line.cost_usd ?? 0,
      line.retries,
      line.guard_score ?? -1,
      line.cached_tokens ?? 0,
    ],
  };
}
