import type { GatewayRequest, OpenAiPorts } from "../../src/backends/openai.ts";
import type { AiRun } from "./fake-ai.ts";

/** A request as an OpenAI-compatible server saw it. `gateway` null: by fetch. */
export interface Seen extends AiRun {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly gateway: string | null;
}

export type ServerReply = (seen: Seen) => Response | Promise<Response>;

/**
 * Stands in for an OpenAI-compatible server at the level of HTTP, reached by fetch or through an AI Gateway. Knows one
 * secret, `UPSTREAM_KEY`. Replies are those of `fake-ai.ts`.
 */
export class FakeOpenAi implements OpenAiPorts {
  readonly seen: Seen[] = [];
  readonly inits: RequestInit[] = [];
  #reply: ServerReply = () => Response.json({});

  replyWith(reply: ServerReply): void {
    this.#reply = reply;
  }

  get last(): Seen {
    const last = this.seen.at(-1);
    if (last === undefined) throw new Error("the server was not asked");
    return last;
  }

  fetch(url: string, init: RequestInit): Promise<Response> {
    this.inits.push(init);
    const query = JSON.parse(String(init.body)) as Record<string, unknown>;
    return this.#serve(url, init.headers as Record<string, string>, query, init.signal as AbortSignal, null);
  }

  gateway(id: string) {
    return {
      run: ({ provider, endpoint, headers, query }: GatewayRequest, { signal }: { signal: AbortSignal }) =>
        this.#serve(`${provider}: ${endpoint}`, headers, query, signal, id),
    };
  }

  secret(name: string): string | undefined {
    return name === "UPSTREAM_KEY" ? "up-secret" : undefined;
  }

  #serve(
    path: string,
    headers: Record<string, string>,
    query: Record<string, unknown>,
    signal: AbortSignal,
    gateway: string | null,
  ): Promise<Response> {
    const options = { returnRawResponse: true as const, signal, extraHeaders: headers };
    const inputs = structuredClone(query);
    const run: Seen = { path, headers, gateway, model: String(query.model), inputs, options, aborted: false };
    this.seen.push(run);
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => {
        run.aborted = true;
        reject(signal.reason);
      });
    });
    return Promise.race([this.#reply(run), aborted]);
  }
}
