import type { GatewayContext } from "../gateway.ts";

/** A JSON answer whose size is noted for the log. */
export function json(c: GatewayContext, value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  const body = new TextEncoder().encode(JSON.stringify(value));
  c.get("record").bytesOut = body.byteLength;
  return new Response(body, { status, headers: { "content-type": "application/json; charset=utf-8", ...headers } });
}
