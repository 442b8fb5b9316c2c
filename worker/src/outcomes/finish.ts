import type { GatewayContext } from "../gateway.ts";
import { mirror } from "./mirror.ts";
import { isProbe } from "./probe.ts";

/** Takes the evidence of a request that is over, by the status of its answer. `endedAt` in milliseconds since the epoch. */
export function tellOutcome(c: GatewayContext, status: number, endedAt: number): void {
  const record = c.get("record");
  const { outcomes } = c.get("gateway");
  // Looks at the stage's health and its owner's own calls are no traffic.
  const isTold = record.evidence !== null || (outcomes.ramping && isTraffic(c.req.raw) && !isProbe(c.req.raw));
  if (!isTold) return;
  const outcome = outcomes.finished(record, status, endedAt, c.env, (work) => c.executionCtx.waitUntil(work));
  // Whatever it came to: what is asked again must not depend on the answer.
  if (outcome !== null && record.evidence !== null) mirror(c, record.evidence);
}

function isTraffic({ method, url }: Request): boolean {
  return method !== "OPTIONS" && !/^[^/]+\/\/[^/]+\/(healthz|readyz|_sluiceway)\b/.test(url);
}
