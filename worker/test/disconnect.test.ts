import { request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AiServer, startBundled } from "./bundled-stage.ts";

// GW-03 and GW-17 name a second within which a stream that broke is closed, and a model that nobody hears is stopped.
// That is held here as it is named, on this machine's clock: over real connections to a real workerd there is no other.
const IDLE_MS = 1_500;
const CLIENT_MS = 1_000;
const CONFIG = {
  stage: "test",
  release: "r-0123456789ab",
  worker: "sluiceway-test",
  models: {
    chat: {
      task: "chat",
      versions: {
        "1": { backend: "workers-ai", id: "@cf/zai-org/glm-4.7-flash", price: { input: 1, output: 1_000 } },
      },
      split: [[1, 100]],
    },
  },
  gateway: null,
  cors: { origins: [], max_age: 0 },
  limits: { body_bytes: 1_048_576, requests: 1000, period: 60 },
  timeouts: { idle_ms: IDLE_MS, client_ms: CLIENT_MS },
  cache: { enabled: false, ttl: 0 },
  auth: { required: true },
  log: { prompts: false },
};
const SSE = { "content-type": "text/event-stream" };
const piece = (content: string) => `data: ${JSON.stringify({ response: content })}\n\n`;

interface Line {
  id: string;
  event: string;
  level: string;
  status: number;
  error: string | null;
  prompt_tokens: number;
  completion_tokens: number;
  cost_usd: number;
}

describe("over real connections to workerd", () => {
  const ai = new AiServer();
  let mf: Miniflare;
  let url: URL;
  let lines: string[];

  beforeAll(async () => {
    ({ mf, url, lines } = await startBundled(CONFIG, await ai.start()));
  });
  afterAll(async () => {
    await mf.dispose();
    await ai.stop();
  });

  const chat = (id: string, body: object, signal?: AbortSignal) =>
    fetch(new URL("/v1/chat/completions", url), {
      method: "POST",
      headers: { authorization: "Bearer test-key", "x-request-id": id },
      body: JSON.stringify({ model: "chat", messages: [{ role: "user", content: "Hi" }], ...body }),
      ...(signal !== undefined && { signal }),
    });

  /**
   * Asks, and gives what ends the connection by a reset. Without one, TCP tells the server no difference between a
   * client that left and one that has merely said all that it has to say; the edge, and our own front, do tell it.
   */
  function open(id: string, body: object, onText: (text: string) => void = () => {}): () => void {
    const asked = httpRequest(new URL("/v1/chat/completions", url), {
      method: "POST",
      agent: false,
      headers: { authorization: "Bearer test-key", "x-request-id": id },
    });
    asked.on("error", () => {});
    asked.on("response", (response) =>
      response
        .setEncoding("utf8")
        .on("data", onText)
        .on("error", () => {}),
    );
    asked.end(JSON.stringify({ model: "chat", messages: [{ role: "user", content: "Hi" }], ...body }));
    return () => void asked.socket?.resetAndDestroy();
  }

  /** The log line of a request, once it is written. */
  async function lineOf(id: string): Promise<Line> {
    const find = () =>
      lines
        .filter((line) => line.startsWith("{"))
        .map((line) => JSON.parse(line) as Line)
        .find((line) => line.event === "request" && line.id === id);
    await expect.poll(find, { timeout: 5_000 }).toBeDefined();
    return find() as Line;
  }

  it("wr_06 passes each token on when it comes", async () => {
    let said = 0;
    let say = () => {};
    ai.reply = (response) => {
      response.writeHead(200, SSE);
      say = () => void response.write(piece(`token${++said} `));
      say();
    };
    const response = await chat("req-arrival", { stream: true });
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true });
      if (!text.includes(`token${said} `)) continue;
      if (said === 3) break;
      // The model says the next one when this one has arrived, and no sooner.
      say();
    }
    expect(text).toMatch(/token1 .*token2 .*token3 /s);
  });

  it("gw_17 stops the model within a second when the client leaves a stream, and books what was said", async () => {
    ai.reply = (response) => {
      response.writeHead(200, SSE);
      const timer = setInterval(() => response.write(piece("more ")), 100);
      response.on("close", () => clearInterval(timer));
    };
    const client = new AbortController();
    const response = await chat("req-left-stream", { stream: true }, client.signal);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let seen = "";
    while (seen.split("more ").length <= 10) seen += new TextDecoder().decode((await reader.read()).value);
    client.abort();
    await expect.poll(() => ai.calls.at(-1)?.closed, { timeout: 1_000 }).toBe(true);
    const line = await lineOf("req-left-stream");
    expect(line).toMatchObject({ error: "client_disconnected" });
    expect(line.prompt_tokens).toBeGreaterThan(0);
    expect(line.completion_tokens).toBeGreaterThanOrEqual(10);
    expect(line.completion_tokens).toBeLessThanOrEqual(30);
    expect(line.cost_usd).toBeGreaterThan(0);
  });

  it("gw_17 books the whole answer when the client leaves after all of it, but before the usage", async () => {
    ai.reply = (response) => {
      response.writeHead(200, SSE);
      for (let token = 0; token < 50; token++) response.write(piece("more "));
    };
    let seen = "";
    const leave = open("req-left-late", { stream: true }, (text) => {
      seen += text;
    });
    const said = () => [...seen.matchAll(/"content":"([^"]*)"/g)].map(([, content]) => content).join("");
    await expect.poll(said, { timeout: 5_000 }).toBe("more ".repeat(50));
    leave();
    await expect.poll(() => ai.calls.at(-1)?.closed, { timeout: 1_000 }).toBe(true);
    const line = await lineOf("req-left-late");
    expect(line).toMatchObject({ error: "client_disconnected" });
    expect(line.prompt_tokens).toBeGreaterThan(0);
    expect(line.completion_tokens).toBeGreaterThanOrEqual(50);
    expect(line.completion_tokens).toBeLessThanOrEqual(75);
    expect(line.cost_usd).toBeGreaterThan(0.05);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ["upstream_broken", (response) => response.destroy()],
    ["upstream_timeout", () => {}],
  ])("gw_03 ends a stream with %s, and the connection's answer within a second", async (code, end) => {
    ai.reply = (response) => {
      response.writeHead(200, SSE).write(piece("two ") + piece("tokens"), () => setTimeout(end, 50, response));
    };
    const response = await chat(`req-${code}`, { stream: true });
    const start = performance.now();
    const text = await response.text();
    expect(performance.now() - start).toBeLessThan(IDLE_MS + 1_000);
    expect([...text.matchAll(/"content":"([^"]*)"/g)].map(([, content]) => content).join("")).toBe("two tokens");
    expect(text.match(/"error":\{/g)).toHaveLength(1);
    expect(text).not.toContain("[DONE]");
    expect(text).not.toContain('"finish_reason":"stop"');
    expect(await lineOf(`req-${code}`)).toMatchObject({ level: "error", status: 200, error: code });
  });

  it.each([false, true])(
    "gw_17 stops the model when the client leaves before the answer begins (stream: %s), and books it",
    async (stream) => {
      ai.reply = () => {};
      const calls = ai.calls.length;
      const leave = open(`req-left-early-${stream}`, { stream, max_tokens: 30 });
      await expect.poll(() => ai.calls.length, { timeout: 5_000 }).toBe(calls + 1);
      setTimeout(leave, 200);
      await expect.poll(() => ai.calls.at(-1)?.closed, { timeout: 1_200 }).toBe(true);
      const line = await lineOf(`req-left-early-${stream}`);
      expect(line).toMatchObject({ status: 499, error: "client_disconnected" });
      expect(line.prompt_tokens).toBeGreaterThan(0);
      expect(line.completion_tokens).toBeGreaterThan(0);
      expect(line.completion_tokens).toBeLessThanOrEqual(30);
      expect(line.cost_usd).toBeGreaterThan(0);
    },
  );

  it("gw_17 stops the model for a client that reads no further, books what was said, and closes the connection", async () => {
    let closed = false;
    ai.reply = (response) => {
      response.writeHead(200, SSE);
      const fill = () => {
        while (!closed && response.write(piece("word ".repeat(10_000))));
      };
      response.on("drain", fill).on("close", () => {
        closed = true;
      });
      fill();
    };
    const asked = httpRequest(new URL("/v1/chat/completions", url), {
      method: "POST",
      agent: false,
      headers: { authorization: "Bearer test-key", "x-request-id": "req-stalled" },
    });
    const answered = new Promise<IncomingMessage>((done) => asked.on("response", done));
    asked.on("error", () => {});
    asked.end(JSON.stringify({ model: "chat", messages: [{ role: "user", content: "Hi" }], stream: true }));
    const response = await answered;
    // It begins to read, and then does not go on.
    await new Promise((done) => response.once("data", done));
    response.pause();
    await expect.poll(() => closed, { timeout: CLIENT_MS + 5_000 }).toBe(true);
    const line = await lineOf("req-stalled");
    expect(line).toMatchObject({ level: "info", status: 200, error: "client_disconnected" });
    expect(line.completion_tokens).toBeGreaterThan(1_000);
    expect(line.cost_usd).toBeGreaterThan(0);
    const over = new Promise((done) => response.on("close", done));
    let rest = "";
    response
      .on("error", () => {})
      .on("data", (chunk: Buffer) => {
        rest += chunk.toString("latin1");
      });
    response.resume();
    await over;
    expect(rest).not.toContain("[DONE]");
  });

  it("waits for a model that says less often than a client has to read", async () => {
    ai.reply = (response) => {
      response.writeHead(200, SSE);
      let said = 0;
      const say = () => {
        response.write(piece("slow "));
        if (++said < 4) setTimeout(say, 1.3 * CLIENT_MS);
        else response.end("data: [DONE]\n\n");
      };
      say();
    };
    const text = await (await chat("req-slow", { stream: true })).text();
    expect(text).toContain("[DONE]");
    expect(await lineOf("req-slow")).toMatchObject({ error: null });
  });

  it("goes on serving when many clients leave at once", async () => {
    ai.reply = (response) => void response.writeHead(200, SSE).write(piece("a "));
    const calls = ai.calls.length;
    const leaves = Array.from({ length: 50 }, (_, index) => open(`req-many-${index}`, { stream: index % 2 === 0 }));
    await expect.poll(() => ai.calls.length, { timeout: 10_000 }).toBe(calls + 50);
    for (const leave of leaves) leave();
    for (let index = 0; index < 50; index++) await lineOf(`req-many-${index}`);
    ai.reply = (response) =>
      response.writeHead(200, { "content-type": "application/json" }).end('{"response":"still here"}');
    expect(await (await chat("req-after", {})).text()).toContain("still here");
  });
});
