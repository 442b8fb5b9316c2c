/** The connection over which a body goes to the runtime, and which hears an answer to the end. */

import { Socket } from "node:net";

type Done = (error?: Error | null) => void;

/** What a write fails with once the other side has closed. */
const CLOSED = new Set(["ECONNRESET", "EPIPE"]);

function unlessClosed(done: Done): Done {
  return (error) => done(CLOSED.has((error as NodeJS.ErrnoException | null | undefined)?.code ?? "") ? null : error);
}

/**
 * Who refuses a large body answers at its first bytes and closes. A plain socket ends at the first write after that,
 * with the answer unread in the kernel. On this one such a write is as good as done: what was said before is read
 * first, and then the end or the reset, which fails the request if that was nothing.
 */
class Hearing extends Socket {
  override _write(chunk: unknown, encoding: BufferEncoding, done: Done): void {
    super._write(chunk, encoding, unlessClosed(done));
  }

  override _writev(chunks: { chunk: unknown; encoding: BufferEncoding }[], done: Done): void {
    super._writev?.(chunks, unlessClosed(done));
  }
}

/** A new connection, for `http.request`. */
export function hearing(port: number, host: string): Socket {
  return new Hearing().connect(port, host).setNoDelay(true);
}
