import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { answerWith, type FakeAi, refuse } from "../../test/support/fake-ai.ts";
import { chatBody, eventsOf, request, Stage, stageConfig, textOfEvents } from "../../test/support/stage.ts";

type Json = Record<string, unknown>;
let turn = 0;

function fresh(changes: Json = {}): Json {
  return { messages: [{ role: "user", content: `stampede ${++turn}` }], temperature: 0, ...changes };
}

function slowly(stage: Stage, reply: Parameters<FakeAi["replyWith"]>[0], ms = 150): void {
  stage.ai.replyWith(async (run) => {
    await scheduler.wait(ms);
    return reply(run);
  });
}

/** Its chat model is down, and another one stands in. */
function downStage(): Stage {
  const { chat, ...models } = stageConfig().models as Record<string, Json>;
  const spare = { task: "chat", versions: { "1": { backend: "workers-ai", id: "@cf/spare" } }, split: [[1, 100]] };
  const stage = new Stage({
    models: { ...models, chat: { ...chat, fallback: ["spare"] }, spare },
    resilience: { attempts: 1 },
  });
  slowly(stage, (run) => (run.model === "@cf/spare" ? answerWith("spared")(run) : refuse(500, 3043, "down")(run)));
  return stage;
}

const outcomes = (responses: Response[]) => responses.map(({ headers }) => headers.get("x-sluiceway-cache")).sort();
const many = <T>(times: number, work: () => Promise<T>) => Promise.all(Array.from({ length: times }, work));

describe("equal requests at once", () => {
  it("cost one call to the model, and all get its answer", async () => {
    const stage = new Stage();
    slowly(stage, answerWith("one for all"));
    const body = fresh();
    const responses = await many(100, () => stage.chat(body));
    expect(stage.ai.runs).toHaveLength(1);
    expect(outcomes(responses)).toEqual([...Array(99).fill("hit"), "miss"]);
    const said = await Promise.all(responses.map(async (response) => (await response.json()) as Json));
    expect(new Set(said.map(({ id }) => id)).size).toBe(100);
    expect(new Set(said.map(({ choices }) => JSON.stringify(choices))).size).toBe(1);
  });

  it("gw_05 get the form that each asked for, whoever asks the model", async () => {
    const stage = new Stage();
    slowly(stage, answerWith("北京 is far."));
    const body = fresh();
    const [first, plain, streamed] = await Promise.all([
      stage.chat({ ...body, stream: true }),
      stage.chat(body),
      stage.chat({ ...body, stream: true }),
    ]);
    expect(stage.ai.runs).toHaveLength(1);
    expect(textOfEvents(await eventsOf(first as Response))).toBe("北京 is far.");
    expect(await (plain as Response).json()).toMatchObject({ choices: [{ message: { content: "北京 is far." } }] });
    expect(textOfEvents(await eventsOf(streamed as Response))).toBe("北京 is far.");
  });

  it("gw_05 are equal only for one tenant and one body", async () => {
    const stage = new Stage();
    slowly(stage, answerWith("x"));
    const body = fresh();
    await Promise.all([stage.chat(body), stage.chat({ ...body, seed: 1 }), stage.chat({ ...body, model: "chat@2" })]);
    expect(stage.ai.runs).toHaveLength(3);
  });

  it.each([
    ["fails", refuse(400, 5006, "bad input"), 400],
    ["is cut by its cap", answerWith("a b c d"), 200],
  ])("ask for themselves when the first %s", async (_, reply, status) => {
    const stage = new Stage();
    slowly(stage, reply);
    const body = fresh({ max_tokens: 2 });
    const responses = await many(4, () => stage.chat(body));
    expect(responses.map((response) => response.status)).toEqual(Array(4).fill(status));
    expect(stage.ai.runs).toHaveLength(4);
  });

  it("go on when the first one's client leaves: one of them takes over", async () => {
    const stage = new Stage();
    slowly(stage, answerWith("still here"), 200);
    const body = fresh();
    const client = new AbortController();
    const ctx = createExecutionContext();
    const path = "/v1/chat/completions";
    const first = stage.fetch(request({ path, body: chatBody(body), signal: client.signal }), ctx);
    await scheduler.wait(20);
    const others = many(5, () => stage.chat(body));
    await scheduler.wait(50);
    client.abort();
    expect((await others).map(({ status }) => status)).toEqual(Array(5).fill(200));
    expect(outcomes(await others)).toEqual(["hit", "hit", "hit", "hit", "miss"]);
    expect(stage.ai.runs.map(({ aborted }) => aborted)).toEqual([true, false]);
    await first.catch(() => {});
    await waitOnExecutionContext(ctx);
  });

  it("find the answer that came while they looked for it elsewhere", async () => {
    let looks = 0;
    const get = async () => {
      if (++looks > 1) await scheduler.wait(200);
      return null;
    };
    const store = { get, put: async () => {} } as unknown as KVNamespace;
    const stage = new Stage({}, { CACHE: store });
    slowly(stage, answerWith("x"), 50);
    const body = fresh();
    expect(outcomes(await many(3, () => stage.chat(body)))).toEqual(["hit", "hit", "miss"]);
    expect(stage.ai.runs).toHaveLength(1);
  });

  it("each ask on a stage that has it off, and after their time", async () => {
    for (const coalesce_ms of [0, 30]) {
      const stage = new Stage({ cache: { enabled: true, ttl: 300, coalesce_ms } });
      slowly(stage, answerWith("x"), 250);
      const body = fresh();
      expect(outcomes(await many(3, () => stage.chat(body)))).toEqual(["miss", "miss", "miss"]);
      expect(stage.ai.runs).toHaveLength(3);
    }
  });

  it("share a stand-in's answer, which says so, when their own model is down", async () => {
    const stage = downStage();
    const body = fresh();
    const responses = await many(5, () => stage.chat(body));
    expect(outcomes(responses)).toEqual(["hit", "hit", "hit", "hit", "miss"]);
    expect(responses.map(({ headers }) => headers.get("x-sluiceway-fallback"))).toEqual(
      Array(5).fill("spare@1; reason=error"),
    );
    for (const response of responses) expect(((await response.json()) as Json).model).toBe("spare@1");
    expect(stage.ai.runs.filter(({ model }) => model === "@cf/spare")).toHaveLength(1);
  });

  it("don't take a stand-in's answer that they refuse", async () => {
    const stage = downStage();
    const body = fresh();
    const leading = stage.chat(body);
    await scheduler.wait(20);
    const refusing = await stage.chat(body, { "x-sluiceway-fallback": "none" });
    expect([(await leading).status, refusing.status]).toEqual([200, 502]);
  });

  it("don't wait for one that has the cache passed by", async () => {
    const stage = new Stage();
    slowly(stage, answerWith("x"));
    const body = fresh();
    const bypass = { "x-sluiceway-cache": "bypass" };
    expect(outcomes(await Promise.all([stage.chat(body, bypass), stage.chat(body)]))).toEqual(["bypass", "miss"]);
  });
});
