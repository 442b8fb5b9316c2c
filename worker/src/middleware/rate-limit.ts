import type { GatewayConfig } from "../config.ts";
import { ApiError } from "../errors.ts";
import type { GatewayMiddleware } from "../gateway.ts";
import { clientAddress } from "../routing/client.ts";

/**
 * Limits requests by key, or by address where no key is asked for. A limiter that fails lets requests pass: it guards
 * against bursts, and budgets and the zone's own rule stand behind it.
 */
export function rateLimit(limits: GatewayConfig["limits"]): GatewayMiddleware {
  return async function rateLimit(c, next) {
    const { record } = c.var;
    const key = record.tenant === "anonymous" ? `ip ${clientAddress(c.req.raw)}` : `key ${record.tenant}`;
    let success = true;
    try {
      ({ success } = await c.env.RATE_LIMIT.limit({ key }));
      record.rateLimiter = "ok";
    } catch {
      record.rateLimiter = "failed";
    }
    if (!success) {
      const message = `More than ${limits.requests} requests in ${limits.period} seconds.`;
      throw new ApiError(429, "rate_limit_exceeded", message, { headers: { "retry-after": String(limits.period) } });
    }
    await next();
  };
}
