import { NOBODY } from "../access/principal.ts";
import { hex, sha256 } from "../digest.ts";
import { ApiError } from "../errors.ts";
import type { GatewayMiddleware } from "../gateway.ts";

/**
 * Lets callers in who have the stage's key, as `Authorization: Bearer` or `X-API-Key`. Both sides are hashed, so the
 * comparison takes the same time whatever is wrong; the answer to every wrong is the same.
 */
export function apiKey(required: boolean): GatewayMiddleware {
  return async function apiKey(c, next) {
    if (required) {
      const expected = c.env.API_KEY?.trim();
      // Failing closed: a stage that lost its secret serves no one.
      if (!expected) throw new ApiError(500, "misconfigured", "The gateway has no API key to check against.");
      const [given, right] = await Promise.all([sha256(presented(c.req.raw.headers)), sha256(expected)]);
      if (!crypto.subtle.timingSafeEqual(given, right)) throw unauthorised();
      const tenant = hex(given).slice(0, 32);
      c.var.record.tenant = tenant;
      c.set("principal", { ...NOBODY, tenant, via: "stage-key", keyId: tenant.slice(0, 12) });
    } else c.set("principal", NOBODY);
    await next();
  };
}

function presented(headers: Headers): string {
  const bearer = /^bearer +(.+)$/i.exec(headers.get("authorization")?.trim() ?? "");
  return bearer?.[1]?.trim() ?? headers.get("x-api-key")?.trim() ?? "";
}

function unauthorised(): ApiError {
  const message = "Missing or wrong API key. Send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`.";
  return new ApiError(401, "invalid_api_key", message, { headers: { "www-authenticate": "Bearer" } });
}
