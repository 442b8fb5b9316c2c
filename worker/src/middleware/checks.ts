import type { GatewayContext, GatewayMiddleware } from "../gateway.ts";

/** What lets a request go on, or throws. It has no part in the answer, so that no layer has to wait for that. */
export type Check = (c: GatewayContext) => void | Promise<void>;

/** A request that passes one check after the other goes on. */
export function checks(...all: readonly Check[]): GatewayMiddleware {
  return async function checks(c, next) {
    for (const check of all) {
      const asked = check(c);
      if (asked !== undefined) await asked;
    }
    await next();
  };
}
