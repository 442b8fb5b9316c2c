import { ApiError } from "../errors.ts";
import type { Handler } from "../gateway.ts";

/**
 * Caps the body. A declared length over the cap is refused at once; the bytes themselves are counted as they are read,
 * which happens only when an endpoint asks, so that a caller without key can't make us read.
 */
export function bodyLimit(maxBytes: number): Handler {
  return function bodyLimit(c) {
    const request = c.req.raw;
    const declared = request.headers.get("content-length");
    if (declared !== null && Number(declared) > maxBytes) throw tooLarge(maxBytes);
    c.set("readBody", async () => {
      // A declared length is what the connection delivers at most; without one the bytes are counted as they come.
      const bytes =
        declared === null ? await readAtMost(request.body, maxBytes) : new Uint8Array(await request.arrayBuffer());
      if (bytes.byteLength > maxBytes) throw tooLarge(maxBytes);
      c.get("record").bytesIn = bytes.byteLength;
      return bytes;
    });
  };
}

async function readAtMost(body: ReadableStream<Uint8Array> | null, maxBytes: number): Promise<Uint8Array> {
  if (body === null) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop cancels what is left of the body.
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  if (chunks.length === 1) return chunks[0] as Uint8Array;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

function tooLarge(maxBytes: number): ApiError {
  return new ApiError(413, "request_too_large", `The request body is larger than ${maxBytes} bytes.`);
}
