import { describe, expect, it } from "vitest";
import { answerWith, refuse } from "../../test/support/fake-ai.ts";
import { errorOf, eventsOf, Stage, textOfEvents } from "../../test/support/stage.ts";

type Json = Record<string, unknown>;
const oops = refuse(500, 3043, "oops");
const fresh = () => ({ model: "chat@1", temperature: 0, messages: [{ role: "user", content: crypto.randomUUID() }] });

function stageOf(resilience: Json, more: Json = {}): Stage {
  const stage = new Stage({ resilience: { attempts: 1, breaker: { failures: 1_000 }, ...resilience }, ...more });
  stage.chance = () => 0;
  return stage;
}

interface Body {
  model: string;
  choices: { message: { content: string }; finish_reason: string }[];
  usage: Json;
  sluiceway?: Json;
}

describe("when no backend answers", () => {
  const cache = { enabled: true, ttl: 10 };

  it.each([false, true])("a cached answer is given beyond its time, and says so (stream: %s)", async (stream) => {
    const stage = stageOf({ stale: 600 }, { cache });
    stage.ai.replyWith(answerWith("Kept from before."));
    const body = fresh();
    await stage.chat(body);
    stage.ahead += 11_000;
    stage.ai.replyWith(oops);
    const response = await stage.chat({ ...body, stream });
    expect([response.status, response.headers.get("x-sluiceway-degraded")]).toEqual([200, "stale"]);
    if (stream) {
      const events = await eventsOf(response);
      expect(textOfEvents(events)).toBe("Kept from before.");
      expect(events[0]).toHaveProperty("sluiceway", { degraded: "stale" });
    } else {
      const answer = (await response.json()) as Body;
      expect(answer.choices[0]?.message.content).toBe("Kept from before.");
      expect(answer.sluiceway).toEqual({ degraded: "stale" });
    }
    expect(stage.requestLogs[1]).toMatchObject({ status: 200, error: "upstream_error" });
    // It was tried all the same.
    expect(stage.ai.runs).toHaveLength(2);
  });

  it("a stale answer is a last resort: a backend that answers is asked", async () => {
    const stage = stageOf({ stale: 600 }, { cache });
    const body = fresh();
    stage.ai.replyWith(answerWith("Old."));
    await stage.chat(body);
    stage.ahead += 11_000;
    stage.ai.replyWith(answerWith("New."));
    const response = await stage.chat(body);
    expect(response.headers.get("x-sluiceway-degraded")).toBeNull();
    expect(((await response.json()) as Body).choices[0]?.message.content).toBe("New.");
  });

  it("no answer is given beyond the stale time, nor on a stage that wants none", async () => {
    for (const stale of [60, 0]) {
      const stage = stageOf({ stale }, { cache });
      const body = fresh();
      await stage.chat(body);
      stage.ahead += 71_000;
      stage.ai.replyWith(oops);
      expect((await stage.chat(body)).status).toBe(502);
    }
  });

  it("a stand-in's answer from before serves too, under its name", async () => {
    const version = (id: string) => ({ "1": { backend: "workers-ai", id } });
    const models = {
      chat: { task: "chat", versions: version("@cf/chat"), split: [[1, 100]], fallback: ["small"] },
      small: { task: "chat", versions: version("@cf/small"), split: [[1, 100]] },
    };
    const stage = stageOf({ stale: 600 }, { cache, models });
    stage.ai.replyWith((run) => (run.model === "@cf/small" ? answerWith("Small, before.") : oops)(run));
    const body = { ...fresh(), model: "chat" };
    await stage.chat(body);
    stage.ahead += 11_000;
    stage.ai.replyWith(oops);
    const response = await stage.chat(body);
    expect([response.status, response.headers.get("x-sluiceway-degraded")]).toEqual([200, "stale"]);
    expect(response.headers.get("x-sluiceway-model")).toBe("small@1");
    expect(await response.json()).toMatchObject({
      model: "small@1",
      choices: [{ message: { content: "Small, before." } }],
    });
  });

  it("nobody gets a stale answer who asked for none from the cache", async () => {
    const stage = stageOf({ stale: 600 }, { cache });
    const body = fresh();
    await stage.chat(body);
    stage.ai.replyWith(oops);
    const response = await stage.chat(body, { "x-sluiceway-cache": "bypass" });
    expect(response.status).toBe(502);
  });

  it.each([false, true])("the stage's own answer stands in, and costs nothing (stream: %s)", async (stream) => {
    const stage = stageOf({ default_answer: "Please try again later. 请稍后再试。" });
    stage.ai.replyWith(oops);
    const response = await stage.chat({ ...fresh(), stream });
    expect([response.status, response.headers.get("x-sluiceway-degraded")]).toEqual([200, "default"]);
    expect(stage.requestLogs.at(-1)).toMatchObject({ level: "error", degraded: "default" });
    if (stream) {
      const events = await eventsOf(response);
      expect(textOfEvents(events)).toBe("Please try again later. 请稍后再试。");
      expect(events.filter(({ done }) => done)).toHaveLength(1);
      expect(events[0]).toHaveProperty("sluiceway", { degraded: "default" });
    } else {
      expect(await response.json()).toMatchObject({
        choices: [{ message: { content: "Please try again later. 请稍后再试。" }, finish_reason: "stop" }],
        usage: { total_tokens: 0 },
        sluiceway: { degraded: "default" },
      });
    }
    expect(stage.requestLogs[0]).toMatchObject({ completion_tokens: 0, error: "upstream_error" });
  });

  it("the stage's own answer is never kept", async () => {
    const stage = stageOf({ default_answer: "Later." });
    stage.ai.replyWith(oops);
    const body = fresh();
    await stage.chat(body);
    stage.ai.replyWith(answerWith("Now."));
    const response = await stage.chat(body);
    expect(response.headers.get("x-sluiceway-cache")).toBe("miss");
    expect(((await response.json()) as Body).choices[0]?.message.content).toBe("Now.");
  });

  it("who asked for JSON gets an error rather than a sentence", async () => {
    const stage = stageOf({ default_answer: "Later." });
    stage.ai.replyWith(oops);
    const response = await stage.chat({ ...fresh(), response_format: { type: "json_object" } });
    expect(response.status).toBe(502);
  });

  it.each([
    ["a limit", refuse(429, 3039, "slow down", { "retry-after": "60" }), "upstream_rate_limited"],
    ["the day's quota", refuse(429, 3036, "used up"), "upstream_quota_exceeded"],
  ])("%s stays a 429 that says when to come again: waiting helps, and nothing is down", async (_, reply, code) => {
    for (const stream of [false, true]) {
      const stage = stageOf({ default_answer: "Later.", queue_ms: 0 });
      stage.ai.replyWith(reply);
      const response = await stage.chat({ ...fresh(), stream });
      expect([response.status, (await errorOf(response)).code]).toEqual([429, code]);
      expect(response.headers.get("retry-after")).toBe("60");
      expect(response.headers.get("x-sluiceway-degraded")).toBeNull();
    }
  });

  it("the caller's own limit of tokens stays a 429", async () => {
    const limits = { body_bytes: 1_048_576, requests: 5, period: 60, tokens_per_minute: 1_000 };
    const stage = stageOf({ default_answer: "Later." }, { limits, cache: { enabled: false, ttl: 0 } });
    expect((await stage.chat({ ...fresh(), max_tokens: 900 })).status).toBe(200);
    const response = await stage.chat({ ...fresh(), max_tokens: 990 });
    expect([response.status, (await errorOf(response)).code]).toEqual([429, "tokens_per_minute_exceeded"]);
  });

  it("an old answer stands in for a model at its limit all the same", async () => {
    const stage = stageOf({ default_answer: "Later.", stale: 600, queue_ms: 0 }, { cache });
    stage.ai.replyWith(answerWith("Kept from before."));
    const body = fresh();
    await stage.chat(body);
    stage.ahead += 11_000;
    stage.ai.replyWith(refuse(429, 3039, "slow down"));
    const response = await stage.chat(body);
    expect([response.status, response.headers.get("x-sluiceway-degraded")]).toEqual([200, "stale"]);
  });

  it("who wants no other than the model it named gets its failure, not the stage's text", async () => {
    const stage = stageOf({ default_answer: "Later." });
    stage.ai.replyWith(oops);
    for (const stream of [false, true]) {
      const response = await stage.chat({ ...fresh(), stream }, { "x-sluiceway-fallback": "none" });
      expect([response.status, (await errorOf(response)).code]).toEqual([502, "upstream_error"]);
    }
  });

  it("gw_08 the client's own fault stays an error", async () => {
    const stage = stageOf({ default_answer: "Later.", stale: 600 });
    stage.ai.replyWith(refuse(400, 5006, "bad input"));
    const response = await stage.chat(fresh());
    expect([response.status, (await errorOf(response)).code]).toEqual([400, "invalid_request"]);
  });

  it("an ordinary answer has no such mark", async () => {
    const stage = stageOf({ default_answer: "Later.", stale: 600 });
    const response = await stage.chat(fresh());
    expect(response.headers.get("x-sluiceway-degraded")).toBeNull();
    expect(await response.json()).not.toHaveProperty("sluiceway");
  });
});
