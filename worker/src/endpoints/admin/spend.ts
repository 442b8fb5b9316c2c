import { spendReport } from "../../budget/spend.ts";
import { ApiError } from "../../errors.ts";
import type { GatewayContext } from "../../gateway.ts";
import { json } from "../json.ts";

/** `GET /spend`: what the stage has spent this day and month, by key, team and model. */
export async function spend(c: GatewayContext): Promise<Response> {
  const gateway = c.get("gateway");
  const report = await spendReport(c.env, gateway.config, gateway.ambient.now()).catch((cause) => {
    const message = "The stage's ledger can't be reached right now. Ask again.";
    throw new ApiError(503, "ledger_unavailable", message, { headers: { "retry-after": "2" }, cause });
  });
  return json(c, report);
}
