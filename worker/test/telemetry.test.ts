import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Miniflare } from "miniflare";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AiServer, startBundled } from "./bundled-stage.ts";

type Span = { name: string; traceId: string; spanId: string; parentSpanId?: string; kind: number };
type Export = { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER = `00-${TRACE}-00f067aa0ba902b7-01`;

/** Takes what the gateway exports. */
class OtlpServer {
  readonly posts: Export[] = [];
  readonly #server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    this.posts.push(JSON.parse(Buffer.concat(chunks).toString("utf8")) as Export);
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });

  async start(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, "127.0.0.1", done));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1/traces`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  get spans(): Span[] {
    return this.posts.flatMap(({ resourceSpans }) =>
      resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    );
  }
}

describe("traces in workerd", () => {
  const ai = new AiServer();
  const collector = new OtlpServer();
  let mf: Miniflare;
  let url: URL;

  beforeAll(async () => {
    const version = { backend: "workers-ai", id: "@cf/zai-org/glm-4.7-flash" };
    const config = {
      ...{ stage: "test", release: "r-0123456789ab", worker: "sluiceway-test", gateway: null },
      models: { chat: { task: "chat", default: true, versions: { "1": version }, split: [[1, 100]] } },
      cors: { origins: [], max_age: 0 },
      limits: { body_bytes: 1_048_576, requests: 1000, period: 60 },
      cache: { enabled: false, ttl: 0 },
      auth: { required: true },
      log: { prompts: false },
      telemetry: { otlp: { endpoint: await collector.start() } },
    };
    ({ mf, url } = await startBundled(config, await ai.start()));
  });
  beforeEach(() => void collector.posts.splice(0));
  afterAll(async () => {
    await mf.dispose();
    await ai.stop();
    await collector.stop();
  });

  const chat = (body: object = {}, init: RequestInit = {}) =>
    fetch(new URL("/v1/chat/completions", url), {
      method: "POST",
      headers: { authorization: "Bearer test-key", traceparent: CALLER },
      body: JSON.stringify({ model: "chat", messages: [{ role: "user", content: "Hi" }], ...body }),
      ...init,
    });

  it("reach the collector after the answer, and the backend gets the call's span", async () => {
    const response = await chat();
    await response.text();
    await expect.poll(() => collector.spans.length, { timeout: 5_000 }).toBeGreaterThan(1);
    const [own] = collector.spans;
    expect(own).toMatchObject({ traceId: TRACE, parentSpanId: "00f067aa0ba902b7", name: "POST /v1/chat/completions" });
    const call = collector.spans.find(({ kind }) => kind === 3);
    expect(ai.calls.at(-1)?.headers["mf-header-traceparent"]).toBe(`00-${TRACE}-${call?.spanId}-01`);
    expect(response.headers.get("server-timing")).toContain(`00-${TRACE}-${own?.spanId}-01`);
  });

  it("of requests that end together go in few posts, and none is lost", async () => {
    await Promise.all(Array.from({ length: 50 }, async () => (await chat()).text()));
    const requests = () => collector.spans.filter(({ kind }) => kind === 2);
    await expect.poll(() => requests().length, { timeout: 5_000 }).toBe(50);
    expect(new Set(requests().map(({ spanId }) => spanId)).size).toBe(50);
    expect(collector.posts.length).toBeLessThan(10);
  });

  it("tell of a request whose client left too", async () => {
    ai.reply = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const timer = setInterval(() => response.write('data: {"response":"more "}\n\n'), 20);
      response.on("close", () => clearInterval(timer));
    };
    const client = new AbortController();
    const response = await chat({ stream: true }, { signal: client.signal });
    await (response.body as ReadableStream<Uint8Array>).getReader().read();
    client.abort();
    await expect.poll(() => collector.spans.filter(({ kind }) => kind === 2).length, { timeout: 5_000 }).toBe(1);
  });
});
