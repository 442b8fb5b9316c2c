import { describe, expect, it, vi } from "vitest";
import { keyFor } from "../../test/support/budget.ts";
import { type AiRun, answerWith, delta, refuse, sse, stall, streamOf } from "../../test/support/fake-ai.ts";
import { errorOf, eventsOf, Stage, textOfEvents } from "../../test/support/stage.ts";

type Json = Record<string, unknown>;
type Reply = (run: AiRun) => Response | Promise<Response>;

const CHAT = "@cf/first";
const SMALL = "@cf/small";
const START = JSON.stringify({
  choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }],
});
const encoder = new TextEncoder();

const version = (id: string, more: Json = {}) => ({ backend: "workers-ai", id, ...more });
const model = (id: string, more: Json = {}, spec: Json = {}) => ({
  task: "chat",
  versions: { "1": version(id, spec) },
  split: [[1, 100]],
  ...more,
});

/** A stage whose `chat` falls back to `small`, with what the two backends say. */
function stageOf(first: Reply, small: Reply = answerWith("From the small one."), changes: Json = {}) {
  const models = { chat: model(CHAT, { fallback: ["small"] }), small: model(SMALL) };
  const stage = new Stage({ models, ...changes });
  stage.chance = () => 0;
  stage.ai.replyWith((run) => (run.model === CHAT ? first(run) : small(run)));
  const calls = (id: string) => stage.ai.runs.filter((run) => run.model === id).length;
  return { stage, calls };
}

const contentOf = async (response: Response) =>
  ((await response.json()) as { choices: { message: { content: string } }[] }).choices[0]?.message.content;

describe("fallback", () => {
  it.each([
    ["401", refuse(401, 0, "no such token"), "unavailable"],
    ["404", refuse(404, 0, "no such path"), "unavailable"],
    ["408", refuse(408, 3007, "too slow"), "timeout"],
    ["410", refuse(410, 0, "gone"), "unavailable"],
    ["410 of a model that was retired", refuse(410, 5028, "deprecated"), "unavailable"],
    ["a retired model, whatever the status", refuse(400, 5028, "deprecated"), "unavailable"],
    [
      "a retired model, of which the binding throws",
      () => {
        throw new Error("AiError: 5028: This model was deprecated");
      },
      "unavailable",
    ],
    ["400 of a model that doesn't exist", refuse(400, 5007, "no such model"), "unavailable"],
    ["429 of a limit", refuse(429, 3039, "slow down", { "retry-after": "60" }), "rate_limited"],
    ["429 of the day's quota", refuse(429, 3036, "used up"), "quota_exceeded"],
    ["500", refuse(500, 3043, "oops"), "error"],
    ["503", refuse(503, 0, "not now"), "error"],
    ["an answer that is none", () => Response.json({}), "error"],
    [
      "a binding that throws",
      () => {
        throw new Error("connection lost");
      },
      "error",
    ],
  ] as [string, Reply, string][])("gw_08 follows %s", async (_, reply, reason) => {
    const { stage, calls } = stageOf(reply);
    for (const stream of [false, true]) {
      const response = await stage.chat({ model: "chat", stream });
      expect(response.status).toBe(200);
      expect(response.headers.get("x-sluiceway-model")).toBe("small@1");
      expect(response.headers.get("x-sluiceway-fallback")).toBe(`small@1; reason=${reason}`);
      const text = stream ? textOfEvents(await eventsOf(response)) : await contentOf(response);
      expect(text).toBe("From the small one.");
    }
    expect(calls(SMALL)).toBe(2);
    expect(stage.requestLogs).toMatchObject([
      { status: 200, model: "chat", version: 1, error: null },
      { status: 200, model: "chat", version: 1, error: null },
    ]);
  });

  it.each([
    [400, 5006, 400],
    [413, 3006, 400],
    [422, 0, 422],
  ])("gw_08 doesn't follow a %d, which every model would give", async (status, code, seen) => {
    const { stage, calls } = stageOf(refuse(status, code, "bad input"));
    for (const stream of [false, true]) {
      const response = await stage.chat({ model: "chat", stream });
      expect([response.status, response.headers.get("x-sluiceway-fallback")]).toEqual([seen, null]);
    }
    expect([calls(CHAT), calls(SMALL)]).toEqual([2, 0]);
  });

  it("gw_08 follows a timeout, streamed and not", async () => {
    const timeouts = { first_token_ms: 60, answer_ms: 60 };
    const { stage, calls } = stageOf((run) => (run.inputs.stream ? stall([]) : new Promise(() => {})), undefined, {
      timeouts,
    });
    for (const stream of [false, true]) {
      const response = await stage.chat({ model: "chat", stream });
      expect(response.headers.get("x-sluiceway-fallback")).toBe("small@1; reason=timeout");
    }
    // Who was waited for in vain isn't waited for again.
    expect([calls(CHAT), calls(SMALL)]).toEqual([2, 2]);
    expect(stage.ai.runs[0]?.aborted).toBe(true);
  });

  it.each([
    [400, null, [400, null]],
    [401, null, [200, "unavailable"]],
    [404, null, [200, "unavailable"]],
    [404, "model_not_found", [200, "unavailable"]],
    [408, null, [200, "timeout"]],
    [410, null, [200, "unavailable"]],
    [413, null, [400, null]],
    [422, null, [422, null]],
    [429, null, [200, "rate_limited"]],
    [429, "insufficient_quota", [200, "quota_exceeded"]],
    [500, null, [200, "error"]],
    [529, null, [200, "error"]],
  ])("gw_08 follows a server that speaks OpenAI's API as far: %d %s", async (status, code, wanted) => {
    const far = { backend: "openai", id: "kimi", base_url: "https://up.test/v1" };
    const models = { chat: { ...model(CHAT, { fallback: ["small"] }), versions: { "1": far } }, small: model(SMALL) };
    const { stage, calls } = stageOf(answerWith("never"), undefined, {
      models,
      resilience: { queue_ms: 0, attempts: 1 },
    });
    vi.stubGlobal("fetch", async () => Response.json({ error: { message: "no", code } }, { status }));
    try {
      for (const stream of [false, true]) {
        const response = await stage.chat({ model: "chat", stream });
        const fallback = response.headers.get("x-sluiceway-fallback");
        expect([response.status, fallback?.split("reason=")[1] ?? null]).toEqual(wanted);
      }
    } finally {
      vi.unstubAllGlobals();
    }
    expect(calls(SMALL)).toBe(wanted[1] === null ? 0 : 2);
  });

  it("gw_07 gives the stand-in's answer alone when the first broke off after its start frame", async () => {
    const { stage, calls } = stageOf(() => streamOf([encoder.encode(`data: ${START}\n\n`)], new Error("reset")));
    const events = await eventsOf(await stage.chat({ model: "chat", stream: true }));
    const roles = events.filter((event) => JSON.stringify(event).includes('"role"'));
    expect(roles).toHaveLength(1);
    expect(textOfEvents(events)).toBe("From the small one.");
    expect(new Set(events.filter(({ done }) => !done).map((event) => event.model))).toEqual(new Set(["small@1"]));
    expect([calls(CHAT), calls(SMALL)]).toEqual([3, 1]);
  });

  it("gw_07 also when the first had told what the prompt came to", async () => {
    const usage = JSON.stringify({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 0 } });
    const { stage } = stageOf(() =>
      streamOf([encoder.encode(`data: ${START}\n\ndata: ${usage}\n\n`)], new Error("reset")),
    );
    const response = await stage.chat({ model: "chat", stream: true });
    expect(response.headers.get("x-sluiceway-model")).toBe("small@1");
  });

  it.each([
    ["words", delta("The answ")],
    ["reasoning", JSON.stringify({ choices: [{ index: 0, delta: { reasoning: "hm" }, finish_reason: null }] })],
    [
      "a tool call",
      JSON.stringify({
        choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: "c", type: "function" }] }, finish_reason: null }],
      }),
    ],
  ])("gw_07 never follows once %s went out: an error event ends it", async (_, said) => {
    const { stage, calls } = stageOf(() =>
      streamOf([encoder.encode(`data: ${START}\n\ndata: ${said}\n\n`)], new Error("reset")),
    );
    const events = await eventsOf(await stage.chat({ model: "chat", stream: true }));
    expect(events.at(-1)).toMatchObject({ error: { code: "upstream_broken" } });
    expect(textOfEvents(events)).toBe(said.includes("The answ") ? "The answ" : "");
    expect([calls(CHAT), calls(SMALL)]).toEqual([1, 0]);
  });

  it("gw_08 keeps the answer under the version that gave it", async () => {
    let up = false;
    const { stage, calls } = stageOf((run) => (up ? answerWith("First.")(run) : refuse(500, 3043, "oops")(run)));
    const body = { temperature: 0, messages: [{ role: "user", content: crypto.randomUUID() }] };
    expect(await contentOf(await stage.chat({ ...body, model: "chat" }))).toBe("From the small one.");
    const same = await stage.chat({ ...body, model: "small" });
    expect([same.headers.get("x-sluiceway-cache"), calls(SMALL)]).toEqual(["hit", 1]);
    up = true;
    const own = await stage.chat({ ...body, model: "chat" });
    expect([own.headers.get("x-sluiceway-cache"), await contentOf(own)]).toEqual(["miss", "First."]);
    expect(own.headers.get("x-sluiceway-fallback")).toBeNull();
  });

  it("gw_08 says one clear thing when all fail: the first one's failure, and who else was asked", async () => {
    const { stage } = stageOf(refuse(429, 3039, "slow down", { "retry-after": "7" }), refuse(500, 3043, "oops"));
    const response = await stage.chat({ model: "chat" });
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "7"]);
    expect(await errorOf(response)).toMatchObject({
      code: "upstream_rate_limited",
      message: expect.stringMatching(/slow down.* Nor did others answer: small@1 \(upstream_error\)\.$/),
    });
  });

  it("passes over a stand-in whose window can't hold the prompt, for the next", async () => {
    const models = {
      chat: model(CHAT, { fallback: ["small", "wide"] }),
      small: model(SMALL, {}, { context_window: 100 }),
      wide: model("@cf/wide"),
    };
    const { stage, calls } = stageOf(refuse(500, 3043, "oops"), answerWith("ok"), { models });
    const long = [{ role: "user", content: "many words ".repeat(500) }];
    const response = await stage.chat({ model: "chat", messages: long, max_tokens: 10 });
    expect([response.status, response.headers.get("x-sluiceway-model")]).toEqual([200, "wide@1"]);
    expect(calls(SMALL)).toBe(0);
  });

  it("doesn't blame the client when a stand-in finds fault with the request", async () => {
    const { stage } = stageOf(refuse(500, 3043, "oops"), refuse(400, 5006, "no pictures"));
    const response = await stage.chat({ model: "chat" });
    expect([response.status, (await errorOf(response)).code]).toEqual([502, "upstream_error"]);
  });

  it("leaves a client that wants no other model with the error", async () => {
    const { stage, calls } = stageOf(refuse(500, 3043, "oops"));
    const response = await stage.chat({ model: "chat" }, { "x-sluiceway-fallback": "none" });
    expect([response.status, calls(SMALL)]).toEqual([502, 0]);
  });

  it("never reaches a model that the key may not use", async () => {
    const { stage, calls } = stageOf(refuse(500, 3043, "oops"), undefined, { stage: "allowed" });
    const own = await keyFor("allowed", { models: ["chat"] });
    expect((await stage.chat({ model: "chat" }, own.headers)).status).toBe(502);
    expect(calls(SMALL)).toBe(0);
    const both = await keyFor("allowed", { models: ["chat", "small"] });
    expect((await stage.chat({ model: "chat" }, both.headers)).headers.get("x-sluiceway-model")).toBe("small@1");
  });

  it("passes over a stand-in that the budget doesn't allow, for the next", async () => {
    const priced = (price: number) => ({ price: { input: price, output: price } });
    const models = {
      chat: model(CHAT, { fallback: ["dear", "small"] }, priced(0.001)),
      dear: model("@cf/dear", {}, priced(1_000_000)),
      small: model(SMALL, {}, priced(0.001)),
    };
    const budgets = { limits: [{ scope: "stage", period: "day", usd: 1 }] };
    const { stage } = stageOf(refuse(500, 3043, "oops"), undefined, { stage: "dear", models, budgets });
    const response = await stage.chat({ model: "chat" });
    expect([response.status, response.headers.get("x-sluiceway-model")]).toEqual([200, "small@1"]);
    expect(stage.ai.runs.map((run) => run.model)).not.toContain("@cf/dear");
  });

  it("ends in a 402 when budgets send a request in circles", async () => {
    const price = { price: { input: 1_000, output: 1_000 } };
    const models = { chat: model(CHAT, {}, price), a: model("@cf/a", {}, price), b: model("@cf/b", {}, price) };
    const limit = (scope: string, fall_to: string) => ({ scope, period: "day", usd: 0.000001, fall_to });
    const budgets = { limits: [limit("key", "a"), limit("stage", "b")] };
    const { stage } = stageOf(answerWith("never"), undefined, { stage: "circles", models, budgets });
    const response = await stage.chat({ model: "chat" });
    expect([response.status, (await errorOf(response)).code]).toEqual([402, "budget_exceeded"]);
    expect(stage.ai.runs).toHaveLength(0);
  });

  it("may name another version of the same model, and never asks the same one twice", async () => {
    const models = {
      chat: {
        task: "chat",
        fallback: ["chat@1", "chat@2"],
        versions: { "1": version(CHAT), "2": version(SMALL) },
        split: [[1, 100]],
      },
    };
    const { stage, calls } = stageOf(refuse(410, 5028, "retired"), answerWith("ok"), { models });
    const response = await stage.chat({ model: "chat" });
    expect(response.headers.get("x-sluiceway-fallback")).toBe("chat@2; reason=unavailable");
    expect(calls(CHAT)).toBe(1);
  });

  it("sends a stand-in its own prompt and its own parameters", async () => {
    const models = {
      chat: model(CHAT, { fallback: ["small"] }, { prompt: "You are first.", parameters: { max_tokens: 50 } }),
      small: model(SMALL, {}, { prompt: "You are small.", parameters: { max_tokens: 70 } }),
    };
    const { stage } = stageOf(refuse(500, 3043, "oops"), answerWith("ok"), { models });
    await stage.chat({ model: "chat" });
    expect(stage.ai.lastRun).toMatchObject({
      model: SMALL,
      inputs: { max_tokens: 70, messages: [{ role: "system", content: "You are small." }, { role: "user" }] },
    });
  });

  it("asks a backend to refuse at once only when another one can step in", async () => {
    const { stage } = stageOf(refuse(500, 3043, "oops"));
    await stage.chat({ model: "chat" });
    const busy = (id: string) => stage.ai.runs.find((run) => run.model === id)?.options;
    expect(busy(CHAT)).toHaveProperty("rejectIfBusy", true);
    expect(busy(SMALL)).not.toHaveProperty("rejectIfBusy", true);
  });

  it("keeps a broken stream out of the cache, and the next request whole", async () => {
    const broken = () => sse([delta("half")]);
    const { stage } = stageOf(broken);
    const body = { model: "chat", stream: true, temperature: 0, messages: [{ role: "user", content: "x" }] };
    expect((await eventsOf(await stage.chat(body))).at(-1)).toHaveProperty("error");
    stage.ai.replyWith(answerWith("whole"));
    const again = await stage.chat(body);
    expect(again.headers.get("x-sluiceway-cache")).toBe("miss");
    expect(textOfEvents(await eventsOf(again))).toBe("whole");
  });
});
