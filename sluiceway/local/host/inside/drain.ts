/**
 * Lets a Worker answer before it has read a large body. The runtime closes a connection soon after an answer that left
 * its body unread, which can destroy the answer on its way; so what the Worker leaves is read here, and the answer does not
 * end before that. Its head and body pass at once.
 */

/** What the runtime itself reads away after an answer. */
const HARMLESS_BYTES = 16_384;

const CHUNK_BYTES = 65_536;

function through(length: string | null): IdentityTransformStream | FixedLengthStream {
  return length === null ? new IdentityTransformStream() : new FixedLengthStream(Number(length));
}

/** Passes a body on for as long as it is wanted, and reads it to its end in any case. */
async function pump(body: ReadableStream, to: WritableStream): Promise<void> {
  const reader = body.getReader({ mode: "byob" });
  const writer = to.getWriter();
  let wanted = true;
  try {
    let buffer = new Uint8Array(CHUNK_BYTES);
    for (;;) {
      const { done, value } = await reader.read(buffer);
      if (done) break;
      if (wanted)
        wanted = await writer
          .write(value)
          .then(() => true)
          .catch(() => false);
      buffer = new Uint8Array(value.buffer as ArrayBuffer);
    }
    if (wanted) await writer.close();
  } finally {
    writer.releaseLock();
  }
}

/** Sends `request` by `send`, and reads what of its body was not taken. */
export async function drained(request: Request, send: (request: Request) => Promise<Response>): Promise<Response> {
  const { body } = request;
  const length = request.headers.get("content-length");
  if (body === null || (length !== null && Number(length) <= HARMLESS_BYTES)) return send(request);
  const passage = through(length);
  // When the client breaks off, so must what the Worker reads.
  const read = pump(body, passage.writable).catch((error) => passage.writable.abort(error).catch(() => undefined));
  const response = await send(new Request(request, { body: passage.readable }));
  if (response.webSocket !== null || response.body === null) return response;
  const answer = through(response.headers.get("content-length"));
  void ended(response.body, answer.writable, read);
  return new Response(answer.readable, response);
}

async function ended(from: ReadableStream, to: WritableStream, read: Promise<void>): Promise<void> {
  try {
    await from.pipeTo(to, { preventClose: true });
    await read;
    await to.close();
  } catch (error) {
    await to.abort(error).catch(() => undefined);
  }
}
