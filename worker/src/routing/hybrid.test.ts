import { beforeEach, describe, expect, it } from "vitest";
import { keyFor } from "../../test/support/budget.ts";
import { answerWith } from "../../test/support/fake-ai.ts";
import { published, ROUTER } from "../../test/support/models.ts";
import { Stage, stageConfig } from "../../test/support/stage.ts";

const EASY = "Translate this letter into French, please";
const HARD = "Prove that the square root of 2 is irrational.";

type Changes = { route?: object; small?: object; router?: object; stage?: object };

const PRICED = { backend: "workers-ai", id: "@cf/zai-org/glm-4.7-flash", price: { input: 0.06, output: 0.4 } };
const DEAR = { backend: "workers-ai", id: "@cf/moonshotai/kimi-k2.6", price: { input: 1, output: 4 } };

let stages = 0;

async function hybrid({ route = {}, small = {}, router = {}, stage = {} }: Changes = {}): Promise<Stage> {
  const version = { ...(await published(new Stage().env.MODELS, "router", ROUTER)), ...router };
  const model = (task: string, one: unknown, more = {}) => ({
    task,
    versions: { "1": one },
    split: [[1, 100]],
    ...more,
  });
  return new Stage({
    ...stageConfig(),
    // Each has a live split of its own.
    stage: `hybrid-${++stages}`,
    models: {
      chat: model("chat", DEAR, { default: true, route: { by: "router", simple: "chat-small", ...route } }),
      "chat-small": model("chat", PRICED, small),
      router: model("classify", version),
    },
    ...stage,
  });
}

const said = (content: unknown) => ({ model: "chat", messages: [{ role: "user", content }] });
const servedBy = (response: Response) => [
  response.headers.get("x-sluiceway-model"),
  response.headers.get("x-sluiceway-route"),
];

let stage: Stage;

beforeEach(async () => {
  stage = await hybrid();
});

describe("a chat model with a route", () => {
  it("sends what is simple to the small model, and says so", async () => {
    const response = await stage.chat(said(EASY));
    expect(servedBy(response)).toEqual(["chat-small@1", expect.stringMatching(/^simple (0\.[5-9]\d|1\.00)$/)]);
    expect(((await response.json()) as { model: string }).model).toBe("chat-small@1");
    expect(stage.ai.runs.map(({ model }) => model)).toEqual([PRICED.id]);
    expect(stage.requestLogs[0]).toMatchObject({
      model: "chat-small",
      route: response.headers.get("x-sluiceway-route"),
    });
  });

  it("sends what is complex to its own version, in either language", async () => {
    for (const text of [HARD, "证明根号二是无理数"]) {
      expect(servedBy(await stage.chat(said(text)))).toEqual(["chat@1", expect.stringMatching(/^complex 0\.[0-4]\d$/)]);
    }
    expect(stage.ai.runs.map(({ model }) => model)).toEqual([DEAR.id, DEAR.id]);
  });

  it("goes by the last message of the user", async () => {
    const turns = (first: string, last: string) => [
      { role: "user", content: first },
      { role: "assistant", content: "Well." },
      { role: "user", content: last },
    ];
    expect(servedBy(await stage.chat({ model: "chat", messages: turns(EASY, HARD) }))[0]).toBe("chat@1");
    expect(servedBy(await stage.chat({ model: "chat", messages: turns(HARD, EASY) }))[0]).toBe("chat-small@1");
  });

  it("asks for as much certainty as the stage wants", async () => {
    stage = await hybrid({ route: { threshold: 1 } });
    expect(servedBy(await stage.chat(said(EASY)))).toEqual(["chat@1", expect.stringMatching(/^complex 0\.\d\d$/)]);
  });

  it("leaves a version that the client named alone", async () => {
    expect(servedBy(await stage.chat({ ...said(EASY), model: "chat@1" }))).toEqual(["chat@1", null]);
    expect(servedBy(await stage.chat({ ...said(HARD), model: "chat-small" }))).toEqual(["chat-small@1", null]);
  });

  it("never reaches a small model that the key may not use", async () => {
    const name = "hybrid-keys";
    stage = await hybrid({ stage: { stage: name } });
    const own = await keyFor(name, { models: ["chat"] });
    expect(servedBy(await stage.chat(said(EASY), own.headers))).toEqual(["chat@1", "complex not-allowed"]);
    const both = await keyFor(name, { models: ["chat", "chat-small"] });
    expect(servedBy(await stage.chat(said(EASY), both.headers))[0]).toBe("chat-small@1");
    // Who may use the small one alone has no way to it by the large one's name.
    const small = await keyFor(name, { models: ["chat-small"] });
    expect((await stage.chat(said(EASY), small.headers)).status).toBe(403);
  });

  it("holds a rollout of the small model to what it was sent", async () => {
    stage = await hybrid({
      small: {
        versions: { "1": PRICED, "2": { ...PRICED, id: "@cf/other/small" } },
        split: [
          [1, 50],
          [2, 50],
        ],
      },
    });
    for (let user = 0; user < 20; user++) await stage.chat({ ...said(EASY), user: `user-${user}` });
    const variants = new Set(stage.requestLogs.map(({ model, variant }) => `${model} ${variant}`));
    expect([...variants].sort()).toEqual(["chat-small candidate", "chat-small stable"]);
  });

  it("is off for a request that says so", async () => {
    const response = await stage.chat(said(EASY), { "x-sluiceway-route": "off" });
    expect(servedBy(response)).toEqual(["chat@1", "complex off"]);
  });

  it.each([
    ["tools", { tools: [{ type: "function", function: { name: "f", parameters: {} } }] }],
    [
      "images",
      said([
        { type: "text", text: EASY },
        { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
      ]),
    ],
    ["long", said(`${EASY} ${"word ".repeat(2_000)}`)],
    [
      "tools",
      {
        messages: [
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }],
          },
          { role: "tool", tool_call_id: "a", content: "4" },
          { role: "user", content: EASY },
        ],
      },
    ],
  ])("gives the large model what has %s", async (why, body) => {
    const response = await stage.chat({ ...said(EASY), ...body });
    expect(response.headers.get("x-sluiceway-route")).toBe(`complex ${why}`);
    expect(stage.ai.runs.every(({ model }) => model === DEAR.id)).toBe(true);
  });

  it("serves the simple, older and streamed forms of a chat alike", async () => {
    const asks = [
      { path: "/", body: { prompt: EASY } },
      { path: "/v1/completions", body: { model: "chat", prompt: EASY } },
      { path: "/v1/responses", body: { model: "chat", input: EASY, store: false } },
      { path: "/v1/chat/completions", body: { ...said(EASY), stream: true } },
    ];
    for (const asked of asks) expect(servedBy(await stage.ask(asked))[0], asked.path).toBe("chat-small@1");
  });

  it("prices a request by the model that had it", async () => {
    for (const text of [EASY, HARD]) await stage.chat(said(text));
    const [easy, hard] = stage.requestLogs.map(({ cost_usd }) => cost_usd as number) as [number, number];
    expect(easy).toBeGreaterThan(0);
    expect(hard).toBeGreaterThan(easy * 2);
  });

  it("holds a budget to the price of the model that is to have it", async () => {
    // A thousand tokens of the small model's answer come to 0.0004 dollars, of the large one's to 0.004.
    const budgets = { limits: [{ scope: "stage", period: "day", usd: 0.001 }] };
    stage = await hybrid({ stage: { stage: "hybrid-budget", budgets } });
    const ask = (text: string) => stage.chat({ ...said(text), max_tokens: 1_000 });
    expect((await ask(HARD)).status).toBe(402);
    expect(servedBy(await ask(EASY))[0]).toBe("chat-small@1");
  });

  it("keeps answers by the model that gave them", async () => {
    const ask = (headers = {}) => stage.chat({ ...said(EASY), temperature: 0 }, headers);
    await ask();
    expect((await ask()).headers.get("x-sluiceway-cache")).toBe("hit");
    const other = await ask({ "x-sluiceway-route": "off" });
    expect(other.headers.get("x-sluiceway-cache")).toBe("miss");
    expect(other.headers.get("x-sluiceway-model")).toBe("chat@1");
  });

  it("follows the small model's split and fallback", async () => {
    stage = await hybrid({
      small: {
        versions: { "1": PRICED, "2": { ...PRICED, id: "@cf/other/small" } },
        split: [
          [1, 0],
          [2, 100],
        ],
        fallback: ["chat"],
      },
    });
    const answer = answerWith("Bien");
    stage.ai.replyWith((run) => (run.model === "@cf/other/small" ? new Response("no", { status: 500 }) : answer(run)));
    const response = await stage.chat(said(EASY));
    expect(response.headers.get("x-sluiceway-fallback")).toMatch(/^chat@1; reason=/);
  });

  it.each([
    ["the artifact is gone", { router: { artifact: { files: [] } } }],
    ["the classifier doesn't exist", { route: { by: "nope" } }],
    ["the classifier is a chat model", { route: { by: "chat-small" } }],
  ])("answers by the large model when %s", async (_, changes) => {
    stage = await hybrid(changes);
    const response = await stage.chat(said(EASY));
    expect([response.status, ...servedBy(response)]).toEqual([200, "chat@1", "complex unavailable"]);
    expect(stage.requestLogs[0]?.route).toMatch(/^complex unavailable: \S/);
  });
});

it("a model without a route says nothing of one", async () => {
  const response = await new Stage().chat(said(EASY));
  expect(response.headers.has("x-sluiceway-route")).toBe(false);
});
