import { Refused } from "../access/credential.ts";
import { NOBODY, type Principal } from "../access/principal.ts";
import type { Gateway, GatewayContext, GatewayMiddleware } from "../gateway.ts";

/** Lets callers in who prove who they are: by the stage's key, a key of their own, a token, or Cloudflare Access. */
export function access(gateway: Gateway): GatewayMiddleware {
  const { required } = gateway.config.auth;
  return async function access(c, next) {
    const principal = required ? await identify(gateway, c) : NOBODY;
    c.get("record").tenant = principal.tenant;
    c.set("principal", principal);
    await next();
  };
}

async function identify(gateway: Gateway, c: GatewayContext): Promise<Principal> {
  try {
    return await gateway.access.identify(c.req.raw.headers, c.env, (work) => c.executionCtx.waitUntil(work));
  } catch (error) {
    if (error instanceof Refused) c.get("record").refusal = error.reason;
    throw error;
  }
}
