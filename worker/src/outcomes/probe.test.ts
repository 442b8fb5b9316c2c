import { env, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { answerWith, refuse } from "../../test/support/fake-ai.ts";
import { modelsWith, rolloutSpec } from "../../test/support/rollout-spec.ts";
import { Stage } from "../../test/support/stage.ts";
import type { GatewayEnv } from "../env.ts";
import type { RolloutController } from "../rollout/controller.ts";
import type { RolloutPort, StageView } from "../rollout/port.ts";
import { isProbe } from "./probe.ts";

const namespace = (env as unknown as GatewayEnv).ROLLOUTS;
const GATES = (["errors", "probes"] as const).map((name) => ({
  ...{ name, margin: 0.05, slo: null, mode: "enforce" as const },
}));
const PROMPTS = [
  { messages: [{ role: "user", content: "What is the capital of Australia?" }], max_tokens: 50 },
  { messages: [{ role: "user", content: "Say it as JSON." }], response_format: { type: "json_object" } },
];
let stages = 0;

function setUp(more: Parameters<typeof rolloutSpec>[0] = {}, probes: unknown = PROMPTS) {
  const name = `probes-${++stages}`;
  const rollout = rolloutSpec({ probes: { every_s: 30, usd: 0.5 }, gates: GATES, min_fail: 3, ...more });
  const resilience = { attempts: 1, breaker: { failures: 1_000_000 } };
  const stage = new Stage({ stage: name, models: modelsWith(rollout, { probes, fallback: ["intent"] }), resilience });
  const stub = namespace.getByName(name);
  let gone = 0;
  /** Lets the controller's alarm come, half a minute later each time, and waits for what it asked. */
  const round = async () => {
    const before = stage.requestLogs.length;
    gone += 31_000;
    await runInDurableObject(stub, async (object: RolloutController) => {
      // The object of a test has the bindings of the suite; those of this stage have its models.
      Object.assign(object, { env: stage.env });
      const real = Date.now;
      Date.now = () => real() + gone;
      try {
        await object.alarm();
      } finally {
        Date.now = real;
      }
    });
    await expect.poll(() => stage.requestLogs.length).toBe(before + 2);
  };
  const view = async () => {
    const told: StageView = await (stub as unknown as RolloutPort).views();
    return told.models.find(({ model }) => model === "chat");
  };
  return { stage, round, view };
}

describe("probes", () => {
  it("go the way of every request, to both versions, past the cache, and are marked in the log", async () => {
    const { stage, round, view } = setUp();
    // The first one begins the rollout, the second is the one that it counts.
    for (const user of ["u", "w"]) await stage.chat({ model: "chat", user });
    await round();
    await round();
    const probed = stage.requestLogs.filter(({ via }) => via === "probe");
    expect(probed.map(({ version }) => version).sort()).toEqual([1, 1, 2, 2]);
    for (const line of probed) {
      expect(line).toMatchObject({ status: 200, key_id: "probes", cache: "bypass", variant: "pinned", stream: true });
    }
    await expect
      .poll(async () => (await view())?.gates.find(({ name }) => name === "probes")?.candidate.requests)
      .toBe(2);
    const errors = (await view())?.gates.find(({ name }) => name === "errors");
    expect((errors?.stable.requests ?? 0) + (errors?.candidate.requests ?? 0)).toBe(1);
    expect((await view())?.figures?.versions.reduce((sum, { requests }) => sum + requests, 0)).toBe(1);
    const asked = stage.ai.runs.map(({ inputs }) => JSON.stringify(inputs));
    expect(asked.some((text) => text.includes("Australia") || text.includes("Say it as JSON"))).toBe(true);
  });

  it("roll back a version that nobody asks, and no stand-in covers for it", async () => {
    const { stage, round, view } = setUp();
    stage.ai.replyWith((run) => (run.model.includes("kimi") ? refuse(500, 3043, "Internal") : answerWith("Yes."))(run));
    await stage.chat({ model: "chat" });
    let probed = 0;
    for (; probed < 20 && (await view())?.phase !== "rolled-back"; probed++) await round();
    expect((await view())?.phase).toBe("rolled-back");
    expect(probed).toBeLessThan(15);
    expect(stage.requestLogs.every(({ fallback }) => fallback === null)).toBe(true);
  });

  it("are nobody else's to send: what comes from outside never counts as one", async () => {
    const { stage } = setUp();
    const headers = { "x-sluiceway-probe": "1", authorization: "" };
    const refused = await stage.ask({ path: "/v1/chat/completions", body: { model: "chat" }, headers });
    expect(refused.status).toBe(401);
    expect(isProbe(new Request("https://probe.invalid/v1/chat/completions"))).toBe(false);
  });
});
