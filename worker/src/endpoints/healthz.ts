import type { GatewayContext } from "../gateway.ts";
import { json } from "./json.ts";

/** `GET /healthz`: the Worker runs and its configuration was accepted. It asks no backend. */
export function healthz(c: GatewayContext): Response {
  return json(c, { status: "ok", release: c.get("gateway").config.release }, 200, { "cache-control": "no-store" });
}
