import type { HonoBase } from "hono/hono-base";
import type { GatewayHono } from "../../gateway.ts";
import { bodyLimit } from "../../middleware/body-limit.ts";
import { notFound, onlyErrors } from "../../middleware/failure.ts";
import { newRoutes } from "../../routes.ts";
import { adminOnly } from "./admin-only.ts";
import { purgeCache } from "./cache.ts";
import { dashboard } from "./dashboard.ts";
import { createKey, getKey, listKeys, revokeKey, rotateKey } from "./keys.ts";
import { commandRollout, getRollout, journal, listRollouts, reportCheck, withdraw } from "./rollouts.ts";
import { spend } from "./spend.ts";

const BODY_BYTES = 65_536;
const COMMANDS = ["pause", "resume", "promote", "abort", "rollback"] as const;

/**
 * What only the stage's owner may do, under `/_sluiceway`. A table of its own, which ends here: none of it passes by
 * CORS, by the callers' keys and limits, or by any cache.
 */
export function admin(): HonoBase<GatewayHono> {
  const app = newRoutes();
  app.use(onlyErrors(), adminOnly(), bodyLimit(BODY_BYTES));
  app.get("/keys", listKeys);
  app.post("/keys", createKey);
  app.get("/keys/:id", getKey);
  app.post("/keys/:id/rotate", rotateKey);
  app.post("/keys/:id/revoke", revokeKey);
  app.post("/cache/purge", purgeCache);
  app.get("/spend", spend);
  app.get("/rollouts/dashboard", dashboard);
  app.get("/rollouts", listRollouts);
  app.get("/rollouts/journal", journal);
  app.post("/rollouts/withdraw", withdraw);
  app.get("/rollouts/:model", getRollout);
  app.post("/rollouts/:model/checks", reportCheck);
  for (const command of COMMANDS) app.post(`/rollouts/:model/${command}`, commandRollout(command));
  app.all("*", notFound);
  return app;
}
