import type { GatewayConfig } from "../config.ts";
import type { Budget } from "../config-policies.ts";
import type { GatewayEnv } from "../env.ts";
import { ledgerOf } from "./accounts.ts";
import type { Spend } from "./protocol.ts";

/** What the stage has spent this day and month, by key, team and model, and the budgets that all callers have. */
export interface SpendReport extends Spend {
  readonly stage: string;
  readonly budgets: readonly Budget[];
}

/** Isolates report within about a second, so the last requests may be missing. */
export async function spendReport(env: GatewayEnv, config: GatewayConfig, now = Date.now()): Promise<SpendReport> {
  const spend = await ledgerOf(env, `${config.stage}/stage/`).spend(now);
  return { stage: config.stage, budgets: config.budgets.limits, ...spend };
}
