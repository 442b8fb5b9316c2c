import { env } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { answerWith, delta, type FakeAi, refuse, sse, streamOf } from "../../test/support/fake-ai.ts";
import { eventsOf, Stage, textOfEvents } from "../../test/support/stage.ts";
import type { GatewayEnv } from "../env.ts";

const { CACHE } = env as unknown as GatewayEnv;
let turn = 0;

/** A request that no other test has asked. */
function fresh(changes: object = {}) {
  return { messages: [{ role: "user", content: `question ${++turn}` }], temperature: 0, ...changes };
}

/** Asks twice and says what the cache did the second time. */
async function twice(stage: Stage, first: object, second: object = first): Promise<string | null> {
  expect((await stage.chat(first as never)).headers.get("x-sluiceway-cache")).not.toBe("hit");
  return (await stage.chat(second as never)).headers.get("x-sluiceway-cache");
}

describe("exact cache", () => {
  it("answers the second time without asking the model", async () => {
    const stage = new Stage();
    const body = fresh();
    const first = (await (await stage.chat(body)).json()) as Record<string, unknown>;
    const response = await stage.chat(body);
    const second = (await response.json()) as Record<string, unknown>;
    expect(response.headers.get("x-sluiceway-cache")).toBe("hit");
    expect(stage.ai.runs).toHaveLength(1);
    expect(second.choices).toEqual(first.choices);
    expect(second.usage).toEqual(first.usage);
    expect(second.id).not.toBe(first.id);
    expect(stage.requestLogs[1]?.cache).toBe("hit");
  });

  it("gw_05 gives one kept answer in both forms, each as its own content type", async () => {
    const stage = new Stage();
    stage.ai.replyWith(answerWith("北京 is far."));
    const body = fresh();
    await stage.chat({ ...body, stream: true });
    const plain = await stage.chat({ ...body, stream: false });
    const streamed = await stage.chat({ ...body, stream: true, user: "someone else" });
    expect([plain, streamed].map(({ headers }) => headers.get("x-sluiceway-cache"))).toEqual(["hit", "hit"]);
    expect(plain.headers.get("content-type")).toMatch(/^application\/json/);
    expect(streamed.headers.get("content-type")).toMatch(/^text\/event-stream/);
    expect(await plain.json()).toMatchObject({
      choices: [{ message: { content: "北京 is far." }, finish_reason: "stop" }],
    });
    const events = await eventsOf(streamed);
    expect(textOfEvents(events)).toBe("北京 is far.");
    expect(events.at(-1)).toEqual({ done: true });
    expect(stage.ai.runs).toHaveLength(1);
  });

  it("finds what another isolate kept, in KV, until its time is over", async () => {
    const settings = { cache: { enabled: true, ttl: 90 } };
    const body = fresh();
    const first = (await (await new Stage(settings).chat(body)).json()) as Record<string, unknown>;
    const other = new Stage(settings);
    const found = await other.chat(body);
    expect(found.headers.get("x-sluiceway-cache")).toBe("hit");
    expect(await found.json()).toMatchObject({ choices: first.choices, usage: first.usage });
    expect(other.ai.runs).toHaveLength(0);
    const late = new Stage(settings);
    late.ahead = 91_000;
    expect((await late.chat(body)).headers.get("x-sluiceway-cache")).toBe("miss");
  });

  it("asks KV once for an answer that it gives again and again", async () => {
    const body = fresh();
    await new Stage().chat(body);
    let looks = 0;
    const get = (key: string) => {
      looks += 1;
      return CACHE.get(key);
    };
    const stage = new Stage({}, { CACHE: { get, put: async () => {} } as unknown as KVNamespace });
    for (let at = 0; at < 3; at++) expect((await stage.chat(body)).headers.get("x-sluiceway-cache")).toBe("hit");
    expect(looks).toBe(1);
  });

  it.each([
    ["max_tokens", { max_tokens: 16 }, { max_tokens: 4000 }],
    ["tool_choice", { tool_choice: "none" }, { tool_choice: "auto" }],
    ["stop", {}, { stop: ["."] }],
    ["seed", { seed: 1 }, { seed: 2 }],
    ["an unknown field", {}, { x: 1 }],
    ["temperature", { temperature: 0 }, { temperature: 0.1 }],
    ["model version", { model: "chat@1" }, { model: "chat@2" }],
  ])("gw_05 misses when only %s differs", async (_, first, second) => {
    const body = fresh();
    expect(await twice(new Stage(), { ...body, ...first }, { ...body, ...second })).toBe("miss");
  });

  it("gw_05 hits for the same body with its keys in another order, at every depth", async () => {
    const tool = { type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } };
    const { messages, ...rest } = fresh({ seed: 1, stop: ["."], tools: [tool], x: { a: 1, b: [{ c: 1, d: 2 }] } });
    const turned = {
      ...{ x: { b: [{ d: 2, c: 1 }], a: 1 }, stop: ["."], seed: 1, temperature: 0 },
      tools: [{ function: { parameters: { properties: {}, type: "object" }, name: "f" }, type: "function" }],
      messages: messages.map(({ role, content }) => ({ content, role })),
    };
    expect(await twice(new Stage(), { messages, ...rest }, turned)).toBe("hit");
  });

  it("gw_05 never gives one tenant another's answer", async () => {
    const body = fresh();
    await new Stage().chat(body);
    const other = new Stage({}, { API_KEY: "other-key" });
    const response = await other.chat(body, { authorization: "Bearer other-key" });
    expect(response.headers.get("x-sluiceway-cache")).toBe("miss");
  });

  it("gw_05 leaves requests alone that state no temperature, unless the stage or the client says otherwise", async () => {
    const { temperature: _, ...body } = fresh();
    expect(await twice(new Stage(), body)).toBe("bypass");
    expect(await twice(new Stage({ cache: { enabled: true, ttl: 300, sampled: true } }), body)).toBe("hit");
    const { temperature: __, ...other } = fresh();
    const stage = new Stage();
    await stage.chat(other, { "x-sluiceway-cache": "use" });
    expect((await stage.chat(other, { "x-sluiceway-cache": "use" })).headers.get("x-sluiceway-cache")).toBe("hit");
  });

  it.each([
    ["cache-control", "no-cache"],
    ["cache-control", "max-age=0, no-store"],
    ["x-sluiceway-cache", "bypass"],
  ])("is passed by on the header %s: %s", async (name, value) => {
    const stage = new Stage();
    const body = fresh();
    await stage.chat(body);
    expect((await stage.chat(body, { [name]: value })).headers.get("x-sluiceway-cache")).toBe("bypass");
    expect(stage.ai.runs).toHaveLength(2);
  });

  const toolCall = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
  const whole = (message: object, finish_reason: string) => () =>
    Response.json({ choices: [{ index: 0, message, finish_reason }] });
  it.each([
    ["an error", refuse(500, 3043, "oops"), false],
    ["an answer that was cut by its cap", whole({ content: "abc" }, "length"), false],
    ["an answer that calls tools", whole({ content: null, tool_calls: [toolCall] }, "tool_calls"), false],
    ["tools called under another name", whole({ content: "x", tool_calls: [toolCall] }, "stop"), false],
    ["an empty answer", whole({ content: "" }, "stop"), false],
    ["a stream that stops half-way", () => sse([delta("half")]), true],
    [
      "a stream that ends in an error behind its last word",
      () => sse([delta("all of it"), '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}', '{"error":"x"}']),
      true,
    ],
    [
      "a stream that breaks",
      () => streamOf([new TextEncoder().encode(`data: ${delta("half")}\n\n`)], new Error("reset")),
      true,
    ],
  ])("never keeps %s", async (_, reply, stream) => {
    const stage = new Stage({ resilience: { attempts: 1 } });
    stage.ai.replyWith(reply as Parameters<FakeAi["replyWith"]>[0]);
    expect(await twice(stage, fresh({ stream }))).toBe("miss");
    expect(stage.ai.runs).toHaveLength(2);
  });

  it.each([0, 1, 10, 59, 60])("gw_06 answers with a life of %d seconds, and never from an older entry", async (ttl) => {
    const stage = new Stage({ cache: { enabled: true, ttl } });
    const body = fresh();
    expect((await stage.chat(body)).status).toBe(200);
    const soon = await stage.chat(body);
    expect([soon.status, soon.headers.get("x-sluiceway-cache")]).toEqual([200, ttl === 0 ? "bypass" : "hit"]);
    stage.ahead = (ttl + 1) * 1000;
    expect((await stage.chat(body)).headers.get("x-sluiceway-cache")).toBe(ttl === 0 ? "bypass" : "miss");
  });

  it.each([1, 10, 59, 60])("gw_06 keeps an answer with a life of %d seconds in KV, and no longer", async (ttl) => {
    const settings = { cache: { enabled: true, ttl } };
    const body = fresh();
    await new Stage(settings).chat(body);
    const [soon, late] = [new Stage(settings), new Stage(settings)];
    late.ahead = (ttl + 1) * 1000;
    expect((await soon.chat(body)).headers.get("x-sluiceway-cache")).toBe("hit");
    expect((await late.chat(body)).headers.get("x-sluiceway-cache")).toBe("miss");
  });

  it("gw_06 keeps answers in a KV that has the platform's limits, whatever the names", async () => {
    await expect(CACHE.put("🦊".repeat(129), "x")).rejects.toThrow("512");
    await expect(CACHE.put("k", "x", { expirationTtl: 59 })).rejects.toThrow("60");
    const version = { backend: "workers-ai", id: `@cf/${"m".repeat(300)}` };
    const name = "m".repeat(100);
    const settings = {
      models: { [name]: { task: "chat", versions: { "1": version }, split: [[1, 100]] } },
      release: "r".repeat(64),
    };
    const body = { ...fresh(), model: name, user: "🦊".repeat(120) };
    const tenant = { API_KEY: "k".repeat(1_000) };
    const headers = { authorization: `Bearer ${tenant.API_KEY}` };
    expect((await new Stage(settings, tenant).chat(body, headers)).status).toBe(200);
    const again = await new Stage(settings, tenant).chat(body, headers);
    expect([again.status, again.headers.get("x-sluiceway-cache")]).toEqual([200, "hit"]);
  });

  it.each([
    ["fails", () => Promise.reject(new Error("KV PUT failed: 429"))],
    [
      "throws",
      () => {
        throw new Error("no such namespace");
      },
    ],
    ["hangs", () => new Promise(() => {})],
    ["holds rubbish", async () => ({ format: 1, expires: Number.MAX_SAFE_INTEGER, answer: { choices: [] } })],
  ])("gw_06 is a miss, never an error, when KV %s", async (_, get) => {
    const store = {
      get: async () => JSON.stringify(await get()),
      put: () => Promise.reject(new Error("KV PUT failed: 429")),
    } as unknown as KVNamespace;
    const stage = new Stage({}, { CACHE: store });
    const response = await stage.chat(fresh());
    expect([response.status, response.headers.get("x-sluiceway-cache")]).toEqual([200, "miss"]);
  });

  it("doesn't keep an answer too large to be worth it", async () => {
    const stage = new Stage();
    stage.ai.replyWith(answerWith("x".repeat(1_100_000)));
    expect(await twice(stage, fresh())).toBe("miss");
  });

  it("gives its entries a life that KV accepts", async () => {
    await new Stage({ cache: { enabled: true, ttl: 1 } }).chat(fresh());
    const { keys } = await CACHE.list({ prefix: "exact/r-0123456789ab/" });
    expect(keys.length).toBeGreaterThan(0);
    for (const { expiration } of keys) expect(expiration).toBeGreaterThan(Date.now() / 1000 + 50);
  });

  it("is out of the way on a stage that has it off", async () => {
    expect(await twice(new Stage({ cache: { enabled: false, ttl: 300 } }), fresh())).toBe("bypass");
  });
});
