import type { GatewayConfig } from "../config.ts";
import type { GatewayContext, Layer } from "../gateway.ts";

const METHODS = "GET, POST, DELETE, OPTIONS";
const EXPOSED = [
  ...["x-request-id", "x-sluiceway-model", "x-sluiceway-variant", "x-sluiceway-release", "x-sluiceway-cache"],
  ...["x-sluiceway-fallback", "x-sluiceway-degraded", "x-sluiceway-guard", "x-sluiceway-route", "server-timing"],
  ...["retry-after", "x-should-retry", "x-sluiceway-budget-reset"],
].join(", ");

/**
 * Lets pages of the listed origins call, and read every answer, errors included. A preflight is answered here: a
 * browser sends it without key, and it counts against no limit.
 */
export function cors(settings: GatewayConfig["cors"]): Layer {
  const any = settings.origins.includes("*");
  const allowed = new Set(settings.origins);
  const allow = (origin: string) => (any ? "*" : allowed.has(origin) ? origin : null);
  const originOf = (c: GatewayContext) => allow(c.req.header("origin") ?? "");
  return {
    before(c) {
      if (c.req.method === "OPTIONS") return preflight(c.req.raw, settings.max_age, originOf(c) !== null);
    },
    after(c) {
      const { headers } = c.res;
      if (!any) headers.append("vary", "Origin");
      const origin = originOf(c);
      if (origin === null) return;
      headers.set("access-control-allow-origin", origin);
      headers.set("access-control-expose-headers", EXPOSED);
    },
  };
}

function preflight(request: Request, maxAge: number, welcome: boolean): Response {
  const headers = new Headers({ allow: METHODS, vary: "Access-Control-Request-Headers" });
  if (welcome) {
    headers.set("access-control-allow-methods", METHODS);
    headers.set("access-control-max-age", String(maxAge));
    // The key travels in a header, so no header is a danger; SDKs send many of their own.
    const asked = request.headers.get("access-control-request-headers");
    if (asked !== null) headers.set("access-control-allow-headers", asked);
  }
  return new Response(null, { status: 204, headers });
}
