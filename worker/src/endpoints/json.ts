import type { GatewayContext } from "../gateway.ts";

const encoder = new TextEncoder();
const scratch = new Uint8Array(16_384);

/** Bytes of a text; only those of a long one are written out, since the runtime takes a text as it is. */
function sizeOf(text: string): number {
  // A UTF-16 unit is three bytes at most.
  const short = text.length * 3 <= scratch.length;
  return short ? encoder.encodeInto(text, scratch).written : encoder.encode(text).byteLength;
}

/** A JSON answer whose size is noted for the log. */
export function json(c: GatewayContext, value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  const body = JSON.stringify(value);
  c.get("record").bytesOut = sizeOf(body);
  return new Response(body, { status, headers: { "content-type": "application/json; charset=utf-8", ...headers } });
}
