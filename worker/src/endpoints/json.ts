import type { GatewayContext } from "../gateway.ts";

const encoder = new TextEncoder();
/** Up to so many UTF-16 units are counted here, faster than they are handed to the platform. */
const SHORT = 4_096;

/** Bytes of a text, which the runtime takes as it is. */
function sizeOf(text: string): number {
  if (text.length > SHORT) return encoder.encode(text).byteLength;
  let size = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) continue;
    // Half of a pair, of which both halves together are four bytes. Alone it is written as three: JSON escapes those.
    size += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
  }
  return size;
}

/** A JSON answer whose size is noted for the log. */
export function json(c: GatewayContext, value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  const body = JSON.stringify(value);
  c.get("record").bytesOut = sizeOf(body);
  return new Response(body, { status, headers: { "content-type": "application/json; charset=utf-8", ...headers } });
}
