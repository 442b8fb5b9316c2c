import type { GatewayContext } from "../gateway.ts";
import type { Soon } from "../soon.ts";
import { clientAddress } from "./client.ts";
import { type Route, routeTo } from "./route.ts";

/** Whom a split sticks to: the user that the request names, else its caller at its address. */
export function userOf(c: GatewayContext, named: string | null): string {
  return named ?? (c.req.header("x-sluiceway-user") || `${c.get("record").tenant} ${clientAddress(c.req.raw)}`);
}

/** The model version that serves `chat` or `chat@2` for this user now. Throws the 404. */
export function findRoute(c: GatewayContext, wanted: string, user: string): Soon<Route> {
  const { config, table } = c.get("gateway");
  const splitOf = (model: string) => table.splitOf(model, c.env, (work) => c.executionCtx.waitUntil(work));
  return routeTo(config, splitOf, wanted, user);
}

/** A version's one name, `chat@2`. */
export function refOf({ model, version }: Pick<Route, "model" | "version">): string {
  return `${model}@${version}`;
}
