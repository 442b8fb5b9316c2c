import { bodyLimit } from "../../middleware/body-limit.ts";
import { notFound } from "../../middleware/failure.ts";
import type { Endpoint, Routes } from "../../routes.ts";
import { adminOnly } from "./admin-only.ts";
import { purgeCache } from "./cache.ts";
import { dashboard } from "./dashboard.ts";
import { createKey, getKey, listKeys, revokeKey, rotateKey } from "./keys.ts";
import { endRamp, getRamp, rampWorkers } from "./ramp.ts";
import { commandRollout, getRollout, journal, listRollouts, reportCheck, withdraw } from "./rollouts.ts";
import { spend } from "./spend.ts";

const BODY_BYTES = 65_536;
const COMMANDS = ["pause", "resume", "promote", "abort", "rollback"] as const;

const ENDPOINTS: readonly Endpoint[] = [
  ["GET", "/keys", listKeys],
  ["POST", "/keys", createKey],
  ["GET", "/keys/:id", getKey],
  ["POST", "/keys/:id/rotate", rotateKey],
  ["POST", "/keys/:id/revoke", revokeKey],
  ["POST", "/cache/purge", purgeCache],
  ["GET", "/spend", spend],
  ["GET", "/rollouts/dashboard", dashboard],
  ["GET", "/rollouts", listRollouts],
  ["GET", "/rollouts/journal", journal],
  ["POST", "/rollouts/withdraw", withdraw],
  ["GET", "/releases/ramp", getRamp],
  ["POST", "/releases/ramp", rampWorkers],
  ["DELETE", "/releases/ramp", endRamp],
  ["GET", "/rollouts/:model", getRollout],
  ["POST", "/rollouts/:model/checks", reportCheck],
];

/**
 * What only the stage's owner may do, under `base`. It ends here, whatever is asked for: none of it passes by CORS, by
 * the callers' keys and limits, or by any cache.
 */
export function addAdmin(app: Routes, base: string): void {
  app.add(null, `${base}/*`, adminOnly(), bodyLimit(BODY_BYTES));
  for (const [method, path, endpoint] of ENDPOINTS) app.add(method, base + path, endpoint);
  for (const command of COMMANDS) app.add("POST", `${base}/rollouts/:model/${command}`, commandRollout(command));
  app.add(null, `${base}/*`, notFound);
}
