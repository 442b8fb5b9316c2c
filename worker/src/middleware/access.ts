import { Refused } from "../access/credential.ts";
import { NOBODY, type Principal } from "../access/principal.ts";
import type { Gateway, GatewayContext, Handler } from "../gateway.ts";
import { isProbe, PROBER } from "../outcomes/probe.ts";
import { clientAddress } from "../routing/client.ts";

/** Lets callers in who prove who they are: by the stage's key, a key of their own, a token, or Cloudflare Access. */
export function access(gateway: Gateway): Handler {
  const { required } = gateway.config.auth;
  return async function access(c) {
    const principal = isProbe(c.req.raw) ? PROBER : required ? await identify(gateway, c) : NOBODY;
    c.get("record").tenant = principal.tenant;
    c.set("principal", principal);
  };
}

async function identify(gateway: Gateway, c: GatewayContext): Promise<Principal> {
  try {
    const { raw } = c.req;
    const later = (work: Promise<unknown>) => c.executionCtx.waitUntil(work);
    return await gateway.access.identify(raw.headers, c.env, later, () => clientAddress(raw));
  } catch (error) {
    if (error instanceof Refused) c.get("record").refusal = error.reason;
    throw error;
  }
}
