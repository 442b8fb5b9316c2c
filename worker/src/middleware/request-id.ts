import type { Gateway, GatewayMiddleware } from "../gateway.ts";
import { newRecord } from "../record.ts";

const ACCEPTED = /^[A-Za-z0-9._-]{8,64}$/;

/** Opens the request's record. A well-formed `x-request-id` of the caller's is kept, so that its logs and ours meet. */
export function requestId(gateway: Gateway): GatewayMiddleware {
  return async function requestId(c, next) {
    const theirs = c.req.header("x-request-id") ?? "";
    const id = ACCEPTED.test(theirs) ? theirs : gateway.ambient.newId();
    c.set("gateway", gateway);
    c.set("record", newRecord(id, gateway.ambient.now()));
    await next();
    c.res.headers.set("x-request-id", id);
  };
}
