import type { GatewayContext } from "../gateway.ts";
import { mirror } from "./mirror.ts";

/** Takes the evidence of a request that is over, by the status of its answer. `endedAt` in milliseconds since the epoch. */
export function tellOutcome(c: GatewayContext, status: number, endedAt: number): void {
  const record = c.get("record");
  if (record.evidence === null) return;
  const { outcomes } = c.get("gateway");
  const outcome = outcomes.finished(record, status, endedAt, c.env, (work) => c.executionCtx.waitUntil(work));
  // Whatever it came to: what is asked again must not depend on the answer.
  if (outcome !== null) mirror(c, record.evidence);
}
