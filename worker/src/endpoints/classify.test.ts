import { beforeEach, describe, expect, it } from "vitest";
import contract from "../../../tests/contract/edge.json";
import { INTENT, published, ROUTER } from "../../test/support/models.ts";
import { errorOf, Stage, stageConfig } from "../../test/support/stage.ts";

let stage: Stage;

beforeEach(async () => {
  const { MODELS } = new Stage().env;
  const { models } = stageConfig() as { models: object };
  const classifier = (version: unknown) => ({ task: "classify", versions: { "1": version }, split: [[1, 100]] });
  stage = new Stage({
    models: {
      ...models,
      intent: classifier(await published(MODELS, "intent", INTENT)),
      router: classifier(await published(MODELS, "router", ROUTER)),
    },
  });
});

const ask = (body: unknown, headers = {}) => stage.ask({ path: "/v1/classify", body, headers });

describe("POST /v1/classify", () => {
  it("answers with intent from workerd, as onnxruntime does", async () => {
    const input = ["Translate this letter into French, please", "帮我把这句话翻译成英文：明天见"];
    const response = await ask({ model: "intent", input });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-sluiceway-model")).toBe("intent@1");
    const { object, model, data } = (await response.json()) as {
      object: string;
      model: string;
      data: { index: number; label: string; probabilities: Record<string, number> }[];
    };
    expect([object, model, data.map(({ index }) => index)]).toEqual(["list", "intent@1", [0, 1]]);
    for (const [at, { label, probabilities }] of data.entries()) {
      expect(label).toBe("translation");
      const row = contract.intent.rows[contract.texts.indexOf(input[at] as string)] as number[];
      for (const [place, name] of contract.intent.labels.entries()) {
        expect(probabilities[name]).toBeCloseTo(row[place] as number, 5);
      }
    }
  });

  it("takes one text, and a pinned version", async () => {
    const response = await ask({ model: "router@1", input: "证明根号二是无理数" });
    expect(await response.json()).toMatchObject({ model: "router@1", data: [{ index: 0, label: "complex" }] });
    expect(response.headers.get("x-sluiceway-variant")).toBe("pinned");
  });

  it("costs nothing, and says what it was in the log", async () => {
    await ask({ model: "intent", input: "hi" });
    const [line] = stage.requestLogs;
    expect(line).toMatchObject({ path: "/v1/classify", model: "intent", version: 1, cost_usd: 0, cache: "bypass" });
  });

  it.each([
    [{ input: "hi" }, 400, "model"],
    [{ model: "intent" }, 400, "input"],
    [{ model: "intent", input: [] }, 400, "input"],
    [{ model: "intent", input: "  " }, 400, "input"],
    [{ model: "intent", input: [1, 2] }, 400, "input"],
    [{ model: "intent", input: ["hi", [3]] }, 400, "input"],
    [{ model: "intent", input: ["hi", 3] }, 400, "input[1]"],
    [{ model: "chat", input: "hi" }, 400, "model"],
    [{ model: "nope", input: "hi" }, 404, "model"],
    [{ model: "intent@2", input: "hi" }, 404, "model"],
  ])("refuses %j by %i", async (body, status, param) => {
    const response = await ask(body);
    expect([response.status, (await errorOf(response)).param]).toEqual([status, param]);
  });

  it("says that a chat model doesn't classify", async () => {
    const { code, message } = await errorOf(await ask({ model: "chat", input: "hi" }));
    expect([code, message]).toEqual(["wrong_task", "The model `chat` doesn't classify (its task is chat)."]);
  });

  it("lets nobody in without a key, and takes no other method", async () => {
    expect((await ask({ model: "intent", input: "hi" }, { authorization: "Bearer no" })).status).toBe(401);
    expect((await stage.ask({ path: "/v1/classify" })).status).toBe(405);
  });

  it("answers 503 while the artifact isn't there", async () => {
    const bare = new Stage();
    const response = await bare.ask({ path: "/v1/classify", body: { model: "intent", input: "hi" } });
    expect(response.status).toBe(503);
    expect(await errorOf(response)).toMatchObject({ code: "model_unavailable" });
  });
});
