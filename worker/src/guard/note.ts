import type { GatewayContext } from "../gateway.ts";

/** Notes what the guard found; the log line and the header tell of it. */
export function note(c: GatewayContext, hit: string, score = 0): void {
  const record = c.get("record");
  const { hits, score: before } = record.guard ?? { hits: [], score: 0 };
  if (hits.includes(hit) && score <= before) return;
  record.guard = { hits: hits.includes(hit) ? hits : [...hits, hit], score: Math.max(score, before) };
}
