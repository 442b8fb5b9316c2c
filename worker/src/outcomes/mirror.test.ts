import { describe, expect, it } from "vitest";
import { answerWith, refuse } from "../../test/support/fake-ai.ts";
import { modelsWith, rolloutSpec } from "../../test/support/rollout-spec.ts";
import { eventsOf, Stage, stageConfig, textOfEvents } from "../../test/support/stage.ts";
import { spendReport } from "../budget/spend.ts";
import { parseConfig } from "../config.ts";
import { controllerOf } from "../rollout/port.ts";
import type { RolloutSpec } from "../rollout/types.ts";
import { likeness } from "./likeness.ts";

type Json = Record<string, unknown>;
let stages = 0;

const price = { input: 1, output: 2 };
const VERSIONS = {
  "1": { backend: "workers-ai", id: "@cf/zai-org/glm-4.7-flash", price },
  "2": { backend: "workers-ai", id: "@cf/moonshotai/kimi-k2.6", price },
};

function setUp(changes: Partial<RolloutSpec> = {}, config: Json = {}) {
  const rollout = rolloutSpec({ strategy: "shadow", steps: [], mirror: 100, ...changes });
  const name = `shadow-${++stages}`;
  const stage = new Stage({ stage: name, models: modelsWith(rollout, { versions: VERSIONS }), ...config });
  stage.ai.replyWith((run) => answerWith(run.model.includes("kimi") ? "Seen by none." : "Seen by all.")(run));
  const counts = async () => {
    const { models } = await controllerOf(stage.env, { stage: name }).views();
    const gate = models.find(({ model }) => model === "chat")?.gates[0];
    return [gate?.stable.requests, gate?.candidate.requests, gate?.candidate.bad];
  };
  const asked = () => stage.ai.runs.map(({ model }) => (model.includes("kimi") ? 2 : 1));
  const shadows = () => stage.logs.filter(({ event }) => event === "shadow");
  /** A request of a minute ago, by which the rollout begins: none of what it came to counts. */
  const begin = async () => {
    stage.ahead = -60_000;
    await ask(stage);
    stage.ahead = 0;
  };
  return { name, stage, counts, asked, shadows, begin };
}

const ask = (stage: Stage, body: Json = {}) => stage.chat({ model: "chat", user: "ann", ...body });

describe("a mirrored request", () => {
  it("is answered by stable; the candidate's answer is counted, compared, and given to nobody", async () => {
    const { stage, counts, asked, shadows, begin } = setUp();
    await begin();
    const answer = await ask(stage);
    expect([answer.headers.get("x-sluiceway-model"), await answer.text()]).toEqual([
      "chat@1",
      expect.stringMatching(/Seen by all\./),
    ]);
    expect(asked()).toEqual([1, 2, 1, 2]);
    expect(await counts()).toEqual([1, 1, 0]);
    expect(shadows().slice(1)).toMatchObject([
      { model: "chat@2", compared_with: "chat@1", failed: false, part: "whole" },
    ]);
    expect(shadows()[0]?.likeness).toBeGreaterThan(0.2);
    expect(JSON.stringify(stage.logs)).not.toContain("Seen by");
  });

  it("is asked as the client asked, with the candidate's own prompt and parameters", async () => {
    const { stage, asked } = setUp({}, {});
    await ask(stage, { temperature: 0.5, messages: [{ role: "user", content: "Well?" }] });
    expect(asked()).toEqual([1, 2]);
    expect(stage.ai.lastRun.inputs).toMatchObject({
      temperature: 0.5,
      messages: [{ role: "user", content: "Well?" }],
    });
  });

  it("is streamed where the client's was, so that first tokens can be compared", async () => {
    const { stage, asked, shadows } = setUp();
    const answer = await ask(stage, { stream: true });
    expect(textOfEvents(await eventsOf(answer))).toBe("Seen by all.");
    expect(asked()).toEqual([1, 2]);
    expect(stage.ai.lastRun.inputs.stream).toBe(true);
    expect(shadows()).toHaveLength(1);
  });

  it("that fails is bad for the candidate, and no one else's matter", async () => {
    const { stage, counts, begin } = setUp();
    stage.ai.replyWith((run) =>
      run.model.includes("kimi") ? refuse(500, 3043, "Internal server error")(run) : answerWith("Fine.")(run),
    );
    await begin();
    expect((await ask(stage)).status).toBe(200);
    expect(await counts()).toEqual([1, 1, 1]);
    expect(stage.requestLogs[1]).toMatchObject({ status: 200, error: null, level: "info" });
  });

  it("is bad for the guard's gate where the guard would have found something in the candidate's answer", async () => {
    const gates = [{ name: "guard", margin: 0.02, slo: null, mode: "enforce" }] as const;
    const { stage, counts, begin } = setUp({ gates }, { guard: { blocklist: ["seen by none"] } });
    await begin();
    const shown = await ask(stage);
    expect(await counts()).toEqual([1, 1, 1]);
    expect(await shown.text()).toContain("Seen by all.");
    expect(stage.requestLogs[1]).toMatchObject({ guard: [] });
  });

  it("costs the stage, under a name of its own, and its caller nothing", async () => {
    const { name, stage } = setUp();
    await ask(stage);
    const config = parseConfig(JSON.stringify(stageConfig({ stage: name })));
    await expect.poll(async () => (await spendReport(stage.env, config)).keys.length).toBe(2);
    const { keys, models } = await spendReport(stage.env, config);
    const shadow = keys.find(({ name }) => name === "shadow");
    expect(shadow?.requests).toBe(1);
    expect(shadow?.usd_day).toBeGreaterThan(0);
    expect(models.map(({ name }) => name).sort()).toEqual(["chat@1", "chat@2"]);
  });

  it.each([
    [40, 1],
    [60, 2],
  ])("is one of the share: at %i percent and a chance of a half, %i calls", async (mirror, calls) => {
    const { stage, asked } = setUp({ mirror });
    await ask(stage);
    expect(asked()).toHaveLength(calls);
  });

  it("is none that named its version, or that the cache has answered", async () => {
    const { stage, asked } = setUp();
    await stage.chat({ model: "chat@1" });
    expect(asked()).toEqual([1]);
    await ask(stage, { temperature: 0 });
    await ask(stage, { temperature: 0 });
    expect(asked()).toEqual([1, 1, 2]);
  });

  it("is none of a rollout that has ended", async () => {
    const { name, stage, asked } = setUp();
    await ask(stage);
    const order = { model: "chat", command: "abort", actor: "ann", reason: null, expect: null } as const;
    expect(await controllerOf(stage.env, { stage: name }).command(order)).toHaveProperty("done");
    stage.ahead = 2_001;
    await ask(stage);
    expect(asked()).toEqual([1, 2, 1]);
  });
});

describe("likeness", () => {
  it("is 1 for the same, 0 for nothing in common, and between for the rest", () => {
    expect(likeness("abc", "abc")).toBe(1);
    expect(likeness("", "")).toBe(1);
    expect(likeness("abc", "xyz")).toBe(0);
    expect(likeness("", "abc")).toBe(0);
    expect(likeness("The answer is 42.", "the answer  is 42.")).toBe(1);
    const near = likeness("答案是四十二。", "答案是四十三。");
    expect(near).toBeGreaterThan(0.5);
    expect(near).toBeLessThan(1);
  });
});
