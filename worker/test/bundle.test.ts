import { gzipSync } from "node:zlib";
import type { Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AiServer, startBundled } from "./bundled-stage.ts";

const NASTY =
  // biome-ignore lint/suspicious/noTemplateCurlyInString: text that must stay as it is
  'He said "hi" `id` ${env.API_KEY} {{ 7*7 }} {% raw %} </script> \u2028 line-separator \r\n 北京🦊 and a final backslash \\';
const CONFIG = {
  stage: "test",
  release: "r-0123456789ab",
  worker: "sluiceway-test",
  models: {
    chat: {
      task: "chat",
      default: true,
      versions: { "1": { backend: "workers-ai", id: "@cf/zai-org/glm-4.7-flash", prompt: NASTY } },
      split: [[1, 100]],
    },
  },
  gateway: null,
  cors: { origins: [], max_age: 0 },
  limits: { body_bytes: 1_048_576, requests: 1000, period: 60 },
  cache: { enabled: true, ttl: 60 },
  auth: { required: true },
  log: { prompts: false },
};
/** Gzipped: 4 kB over what it was when this was last looked at, so that growth is seen. The goal is 120,000. */
const MOST_BYTES = 116_000;
const SSE = { "content-type": "text/event-stream" };
const piece = (content: string) => `data: ${JSON.stringify({ response: content })}\n\n`;

describe("the bundle in workerd, with the real AI binding", () => {
  const ai = new AiServer();
  let mf: Miniflare;
  let url: URL;
  let bundle: string;

  beforeAll(async () => {
    ({ mf, url, bundle } = await startBundled(CONFIG, await ai.start()));
  });
  afterAll(async () => {
    await mf.dispose();
    await ai.stop();
  });

  const chat = (body: object, init: RequestInit = {}) =>
    fetch(new URL("/v1/chat/completions", url), {
      method: "POST",
      headers: { authorization: "Bearer test-key" },
      body: JSON.stringify({ model: "chat", messages: [{ role: "user", content: "Hi" }], ...body }),
      ...init,
    });

  it("wr_08 brings the version's prompt to the model byte for byte", async () => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "x-api-key": "test-key" },
      body: JSON.stringify({ prompt: "Hi" }),
    });
    expect(await response.json()).toEqual({ response: { text: "ok" } });
    expect(ai.calls.at(-1)?.inputs.messages).toEqual([
      { role: "system", content: NASTY },
      { role: "user", content: "Hi" },
    ]);
    expect(ai.calls.at(-1)?.headers["mf-header-cf-consn-model-id"]).toBe("@cf/zai-org/glm-4.7-flash");
    expect(ai.calls.at(-1)?.headers["mf-header-x-session-affinity"]).toMatch(/^[0-9a-f]{32}$/);
    expect(response.headers.get("x-sluiceway-model")).toBe("chat@1");
    expect(response.headers.get("x-sluiceway-variant")).toBe("stable");
  });

  it("gives a refusal of the binding its status and wait", async () => {
    ai.reply = (response) =>
      response
        .writeHead(429, { "content-type": "application/json", "retry-after": "9" })
        .end(JSON.stringify({ internalCode: 3040, description: "busy", name: "AiError" }));
    const response = await chat({ stream: true });
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "9"]);
    expect(await response.json()).toMatchObject({ error: { code: "upstream_out_of_capacity" } });
  });

  it("passes a stream on as it comes", async () => {
    let finish = () => {};
    ai.reply = (response) => {
      response.writeHead(200, SSE).write(piece("first "));
      finish = () => response.end(`${piece("second")}data: [DONE]\n\n`);
    };
    const response = await chat({ stream: true });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    // Upstream says the second word only when the first has arrived here.
    const first = await reader.read();
    expect(new TextDecoder().decode(first.value)).toContain("first ");
    finish();
    let rest = "";
    for (let next = await reader.read(); !next.done; next = await reader.read())
      rest += new TextDecoder().decode(next.value);
    expect(rest).toContain("second");
    expect(rest.endsWith("data: [DONE]\n\n")).toBe(true);
  });

  it("hangs up on the model when the client leaves a stream", async () => {
    ai.reply = (response) => {
      response.writeHead(200, SSE);
      const timer = setInterval(() => response.write(piece("more ")), 20);
      response.on("close", () => clearInterval(timer));
    };
    const client = new AbortController();
    const response = await chat({ stream: true }, { signal: client.signal });
    await (response.body as ReadableStream<Uint8Array>).getReader().read();
    client.abort();
    await expect.poll(() => ai.calls.at(-1)?.closed, { timeout: 5_000 }).toBe(true);
  });

  it("gw_03 gives a model that resets the connection in the middle an error event", async () => {
    ai.reply = (response) => {
      response.writeHead(200, SSE).write(piece("two tokens"), () => setTimeout(() => response.destroy(), 50));
    };
    const text = await (await chat({ stream: true })).text();
    expect(text).toContain("two tokens");
    expect(text).toMatch(/data: \{"error":\{[^\n]*"code":"upstream_broken"[^\n]*\}\n\n$/);
  });

  it("stays far below what a start-up may weigh", () => {
    expect(gzipSync(bundle).byteLength).toBeLessThan(MOST_BYTES);
  });

  it("holds no expression with classes of Unicode, whose tables would be gone through at each start", () => {
    expect(bundle).not.toMatch(/[^\\]\\p\{/i);
    expect(bundle).toMatch(/\\\\p\{/i);
  });
});
