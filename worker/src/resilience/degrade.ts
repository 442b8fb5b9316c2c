import type { Answer, Usage } from "../backends/backend.ts";
import type { GatewayContext } from "../gateway.ts";
import type { Route } from "../routing/route.ts";

/** An answer that no backend gave just now. */
export interface Degraded {
  readonly how: "stale" | "default";
  readonly answer: Answer;
  /** Whose answer it is; the version that was asked for when it is nobody's. */
  readonly route: Route;
}

const NOTHING: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/**
 * What the stage gives when no backend of a request has an answer: the first cached one whose time is over, else the
 * stage's own text, unless the client is served worse by that (`textless`). Null when the stage wants it to fail. `keys`:
 * under which an answer may be kept, by the version that gave it.
 */
export async function degradedAnswer(
  c: GatewayContext,
  keys: () => AsyncIterable<readonly [key: string, by: Route]>,
  first: Route,
  textless: boolean,
): Promise<Degraded | null> {
  const { config, cache } = c.get("gateway");
  const { stale, default_answer: text } = config.resilience;
  if (stale > 0) {
    for await (const [key, route] of keys()) {
      const answer = await cache.find(c.env.CACHE, key, { stale: true });
      if (answer !== null) return { how: "stale", answer, route };
    }
  }
  if (text === null || textless) return null;
  const message = { role: "assistant" as const, content: text };
  const choices = [{ index: 0, message, finish_reason: "stop" }];
  return { how: "default", answer: { choices, usage: NOTHING }, route: first };
}
