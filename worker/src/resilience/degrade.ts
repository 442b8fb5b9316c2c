import type { Answer, Usage } from "../backends/backend.ts";
import type { GatewayContext } from "../gateway.ts";

/** An answer that no backend gave just now. */
export interface Degraded {
  readonly how: "stale" | "default";
  readonly answer: Answer & { usage: Usage };
}

const NOTHING: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/**
 * What the stage gives when no backend of a request has an answer: the cached one under `key` whose time is over, else
 * the stage's own text, unless the client parses what it gets. Null when the stage wants it to fail.
 */
export async function degradedAnswer(c: GatewayContext, key: string | null, parsed: boolean): Promise<Degraded | null> {
  const { config, cache } = c.var.gateway;
  const { stale, default_answer: text } = config.resilience;
  const kept = stale > 0 && key !== null ? await cache.find(c.env.CACHE, key, { stale: true }) : null;
  if (kept !== null) return { how: "stale", answer: { ...kept, usage: kept.usage ?? NOTHING } };
  if (text === null || parsed) return null;
  const message = { role: "assistant" as const, content: text };
  return { how: "default", answer: { choices: [{ index: 0, message, finish_reason: "stop" }], usage: NOTHING } };
}
