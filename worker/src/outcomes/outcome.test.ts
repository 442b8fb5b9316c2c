import { describe, expect, it } from "vitest";
import { answerWith, delta, refuse, stall, streamOf } from "../../test/support/fake-ai.ts";
import { modelsWith, rolloutSpec } from "../../test/support/rollout-spec.ts";
import { chatBody, Stage } from "../../test/support/stage.ts";
import type { GatewayEnv } from "../env.ts";
import type { RolloutPort, Served } from "../rollout/port.ts";
import type { Batch, LiveSplits, Outcome, RolloutSpec } from "../rollout/types.ts";

type Json = Record<string, unknown>;

/** A controller that sends all to the candidate and keeps what it is told. */
class Controller {
  readonly batches: Batch[] = [];
  readonly served: Served[] = [];
  readonly live: LiveSplits = {
    revision: 1,
    weights: {
      chat: [
        [1, 0],
        [2, 100],
      ],
    },
    mirrors: {},
  };

  async splits(): Promise<LiveSplits> {
    return this.live;
  }

  async report(_spec: unknown, batch: Batch, served: readonly Served[]): Promise<LiveSplits> {
    this.batches.push(batch);
    this.served.push(...served);
    return this.live;
  }

  get outcomes(): Outcome[] {
    return this.batches.flatMap(({ outcomes }) => outcomes);
  }
}

function setUp(rollout: Partial<RolloutSpec> | null = {}, changes: Json = {}, model: Json = {}) {
  const controller = new Controller();
  const ROLLOUTS = { getByName: () => controller as unknown as RolloutPort } as unknown as GatewayEnv["ROLLOUTS"];
  const models = modelsWith(rollout === null ? null : rolloutSpec(rollout), model);
  const resilience = { attempts: 1, breaker: { failures: 1_000_000 } };
  const stage = new Stage({ models, resilience, ...changes }, { ROLLOUTS });
  return { stage, controller };
}

const ask = (stage: Stage, body: Json = {}) => stage.chat({ model: "chat", user: "ann", ...body });

describe("an outcome", () => {
  it("says what came of a request, and by whom it was served, in figures alone", async () => {
    const { stage, controller } = setUp({}, {}, { versions: priced() });
    const before = Date.now();
    await ask(stage, { messages: [{ role: "user", content: "What is secret?" }] });
    expect(controller.outcomes).toEqual([
      {
        ...{ model: "chat", version: 2, client: expect.stringMatching(/^[0-9a-f]{16}$/), at: expect.any(Number) },
        ...{ part: "whole", failed: false, first_token_ms: null, total_ms: expect.any(Number), tokens: 4 },
        ...{ cost_usd: expect.any(Number), json: null, empty: false, refusal: false, guard: false, source: "live" },
      },
    ]);
    const [outcome] = controller.outcomes;
    expect(outcome?.at).toBeGreaterThanOrEqual(before);
    expect(outcome?.cost_usd).toBeGreaterThan(0);
    expect(JSON.stringify(controller.batches)).not.toMatch(/secret|ann/);
  });

  it("has the time to the first token of a stream", async () => {
    const { stage, controller } = setUp();
    await ask(stage, { stream: true });
    expect(controller.outcomes[0]).toMatchObject({ failed: false, first_token_ms: expect.any(Number), tokens: 4 });
  });

  it("has one client for one user, whatever it asks", async () => {
    const { stage, controller } = setUp();
    await ask(stage);
    await ask(stage, { messages: [{ role: "user", content: "And now?" }] });
    await ask(stage, { user: "bob" });
    const clients = controller.outcomes.map(({ client }) => client);
    expect([clients[0] === clients[1], clients[0] === clients[2]]).toEqual([true, false]);
  });

  it("is bad for a model that fails, at once or in the midst of a stream", async () => {
    const { stage, controller } = setUp();
    stage.ai.replyWith(refuse(500, 3043, "Internal server error"));
    await ask(stage);
    await ask(stage, { stream: true });
    stage.ai.replyWith(() => streamOf([new TextEncoder().encode(`data: ${delta("one")}\n\n`)], new Error("reset")));
    await ask(stage, { stream: true });
    expect(controller.outcomes.map(({ failed }) => failed)).toEqual([true, true, true]);
  });

  it("is bad for a version that answered only when it was asked again", async () => {
    const { stage, controller } = setUp({}, { resilience: { attempts: 3, base_ms: 1, cap_ms: 1, retry_budget: 1 } });
    let calls = 0;
    stage.ai.replyWith((run) =>
      (++calls === 1 ? refuse(500, 3043, "Internal server error") : answerWith("Hello."))(run),
    );
    expect((await ask(stage)).status).toBe(200);
    expect(calls).toBe(2);
    await ask(stage, { user: "bob" });
    expect(controller.outcomes.map(({ failed }) => failed)).toEqual([true, false]);
  });

  it("is bad for the version that was routed to when another answered", async () => {
    const { stage, controller } = setUp({}, {}, { fallback: ["chat@1"] });
    stage.ai.replyWith((run) =>
      run.model.includes("kimi") ? refuse(500, 3043, "Internal server error")(run) : answerWith("Hello.")(run),
    );
    const answer = await ask(stage);
    expect([answer.status, answer.headers.get("x-sluiceway-model")]).toEqual([200, "chat@1"]);
    expect(controller.outcomes).toMatchObject([{ version: 2, failed: true, empty: false }]);
  });

  it("is bad for a version that can't hold the prompt, or whose backend refuses the request", async () => {
    const { stage, controller } = setUp();
    stage.ai.replyWith(refuse(400, 5004, "Invalid data"));
    await ask(stage);
    expect(controller.outcomes).toMatchObject([{ failed: true }]);
  });

  it("tells broken JSON, an empty answer and a refusal", async () => {
    const { stage, controller } = setUp();
    stage.ai.replyWith(answerWith("Here it is."));
    await ask(stage, { response_format: { type: "json_object" } });
    stage.ai.replyWith(answerWith(""));
    await ask(stage, { stream: true });
    stage.ai.replyWith(answerWith("I'm sorry, but I can't help with that."));
    await ask(stage, { stream: true });
    const faults = controller.outcomes.map(({ json, empty, refusal }) => [json, empty, refusal]);
    expect(faults).toEqual([
      [true, false, false],
      [null, true, false],
      [null, false, true],
    ]);
  });

  it("tells what the guard found in the answer, not in the prompt", async () => {
    const guard = { mask_prompts: true, mask_answers: true };
    const { stage, controller } = setUp({}, { guard });
    await ask(stage, { messages: [{ role: "user", content: "I am ann@example.org" }] });
    stage.ai.replyWith(answerWith("Write to bob@example.org today."));
    await ask(stage);
    expect(controller.outcomes.map(({ guard }) => guard)).toEqual([false, true]);
  });
});

describe("no outcome", () => {
  const none = async (send: (stage: Stage) => Promise<unknown>, ...with_: Parameters<typeof setUp>) => {
    const { stage, controller } = setUp(...with_);
    await send(stage);
    expect(stage.requestLogs.length).toBeGreaterThan(0);
    return controller.outcomes;
  };

  it("comes of a model without a rollout", async () => {
    expect(await none((stage) => ask(stage), null)).toEqual([]);
  });

  it("comes of a request that named its version", async () => {
    expect(await none((stage) => ask(stage, { model: "chat@2" }))).toEqual([]);
  });

  it("comes of an answer from the cache", async () => {
    const twice = async (stage: Stage) => {
      await ask(stage, { temperature: 0 });
      expect((await ask(stage, { temperature: 0 })).headers.get("x-sluiceway-cache")).toBe("hit");
    };
    expect(await none(twice)).toHaveLength(1);
  });

  it("comes of a request that the gateway itself turned down", async () => {
    const twice = async (stage: Stage) => {
      expect((await ask(stage, { temperature: 9 })).status).toBe(400);
      expect((await stage.chat({ model: "chat" }, { authorization: "Bearer wrong" })).status).toBe(401);
    };
    expect(await none(twice)).toEqual([]);
  });

  it("comes of a budget that is used up, nor of the cheaper model that it falls to", async () => {
    const limits = [{ scope: "stage", period: "day", usd: 0, fall_to: "intent" }];
    const models = { versions: priced() };
    const refused = async (stage: Stage) => expect((await ask(stage)).status).toBeGreaterThanOrEqual(400);
    expect(await none(refused, {}, { budgets: { limits } }, models)).toEqual([]);
  });

  it("comes of a client that left", async () => {
    const leave = async (stage: Stage) => {
      stage.ai.replyWith(() => stall(["one ", "two "]));
      const response = await stage.send({
        path: "/v1/chat/completions",
        body: chatBody({ model: "chat", stream: true }),
      });
      await response.body?.cancel();
      await expect.poll(() => stage.requestLogs.length).toBe(1);
    };
    expect(await none(leave)).toEqual([]);
  });
});

it("who may say something of a request is told only where thumbs are counted", async () => {
  const without = setUp();
  await ask(without.stage);
  expect(without.controller.served).toEqual([]);
  const { stage, controller } = setUp({
    gates: [{ name: "feedback", margin: 0.05, slo: null, mode: "enforce" }],
  });
  await ask(stage);
  const digest = expect.stringMatching(/^[0-9a-f]+$/);
  expect(controller.served).toEqual([{ id: "req-test-1", caller: digest, model: "chat", version: 2, client: digest }]);
});

function priced(): Json {
  const price = { input: 1, output: 2 };
  return {
    "1": { backend: "workers-ai", id: "@cf/zai-org/glm-4.7-flash", price },
    "2": { backend: "workers-ai", id: "@cf/moonshotai/kimi-k2.6", price },
  };
}
