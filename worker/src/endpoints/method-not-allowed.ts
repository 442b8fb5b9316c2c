import { ApiError } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";

/** Answers 405 for the methods that a path doesn't take. */
export function methodNotAllowed(allow: string): (c: GatewayContext) => never {
  return function methodNotAllowed(c) {
    throw new ApiError(405, "method_not_allowed", `${c.req.method} is not allowed here; use ${allow}.`, {
      headers: { allow: `${allow}, OPTIONS` },
    });
  };
}
