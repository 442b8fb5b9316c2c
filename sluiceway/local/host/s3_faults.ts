/** What calls of R2's S3 API are to meet on their way: decided by the control plane, carried out here, at the door. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { log, text } from "./log.ts";

export interface Met {
  /** The call is done first, and its own answer is lost. */
  readonly after: boolean;
  readonly drop: boolean;
  readonly delay_ms: number;
  readonly answer: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  } | null;
}

export class S3Faults {
  readonly #url: string | null;
  readonly #fetch: typeof fetch;
  /** Whether there is anything to ask for: without faults a call costs nothing more. */
  on = false;

  constructor(url: string | null, ask: typeof fetch = fetch) {
    this.#url = url;
    this.#fetch = ask;
  }

  /** `path` is `/bucket/key`. */
  async ask(method: string, path: string): Promise<Met | null> {
    if (!this.on || this.#url === null) return null;
    try {
      const answer = await this.#fetch(this.#url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ method, path }),
      });
      return (await answer.json()) as Met | null;
    } catch (error) {
      log("warn", "nobody tells of faults", { reason: text(error) });
      return null;
    }
  }
}

/** True when the caller has got what the fault says; false when it only made the call slow. */
export function meet({ answer, drop }: Met, request: IncomingMessage, response: ServerResponse): boolean {
  if (drop) {
    if (request.socket.destroyed) return true;
    request.socket.resetAndDestroy();
    return true;
  }
  if (answer === null) return false;
  const body = request.method === "HEAD" ? "" : answer.body;
  response.writeHead(answer.status, {
    ...answer.headers,
    "content-length": String(Buffer.byteLength(answer.body)),
    connection: "close",
  });
  response.end(body);
  // What still comes of the body is thrown away: a connection that ends under it would cost the answer.
  request.resume();
  return true;
}
