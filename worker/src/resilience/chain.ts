import { assertModelAllowed } from "../access/allowed.ts";
import type { GatewayContext } from "../gateway.ts";
import { findRoute, refOf } from "../routing/find.ts";
import type { Route } from "../routing/route.ts";

/** Who may answer a request: the version that it was routed to, and those that stand in for it. */
export interface Chain {
  readonly first: Route;
  /** Whether anyone may stand in; who, is only found out when someone must. */
  readonly hasOthers: boolean;
  others(): Promise<readonly Route[]>;
}

/**
 * The chain of a request: `first`, then its model's `fallback` in order, each by its own live split. `check` throws for
 * a version that can't take the request, which is then passed over. A client that wants none but the version it named
 * says `x-sluiceway-fallback: none`.
 */
export function chainOf(c: GatewayContext, first: Route, user: string, check: (route: Route) => void): Chain {
  const declared = c.get("gateway").config.models[first.model]?.fallback ?? [];
  const unwanted = declared.length > 0 && wantsNoOther(c);
  // A model's own stable version may be named: it stands in for the others, not for itself.
  const wanted = unwanted ? [] : declared.filter((ref) => ref !== refOf(first));
  return { first, hasOthers: wanted.length > 0, others: () => standIns(c, first, wanted, user, check) };
}

/** Whether the client takes an answer of no model but the one that it named. */
export function wantsNoOther(c: GatewayContext): boolean {
  return c.req.header("x-sluiceway-fallback")?.trim().toLowerCase() === "none";
}

async function standIns(
  c: GatewayContext,
  first: Route,
  wanted: readonly string[],
  user: string,
  check: (route: Route) => void,
): Promise<Route[]> {
  const found = new Map<string, Route>();
  for (const ref of wanted) {
    try {
      assertModelAllowed(c.get("principal"), ref);
      const route = await findRoute(c, ref, user);
      check(route);
      if (refOf(route) !== refOf(first)) found.set(refOf(route), route);
    } catch {
      // It can't hold this prompt, or this caller may not use it: the next one may do.
    }
  }
  return [...found.values()];
}
