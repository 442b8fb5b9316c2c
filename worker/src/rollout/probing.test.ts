import { describe, expect, it } from "vitest";
import { alarmOf, gate, rolled, stage, step, type TestStage } from "../../test/support/rollout.ts";
import { Rollout } from "../config-rollout.ts";
import { digestOf } from "./declared.ts";
import type { Action } from "./state.ts";
import type { Outcome } from "./types.ts";

const PROBES = { every_s: 30, usd: 0.1 };
const GATES = [gate("errors", { margin: 0.02 }), gate("json", { margin: 0.02 }), gate("probes")];

const sent = (actions: readonly Action[]) => actions.filter(({ kind }) => kind === "probe");

function probed(more: Parameters<typeof stage>[0] = {}): TestStage {
  return stage({ probes: PROBES, gates: GATES, steps: [step(10, { hold_s: 60 }), step(100)], ...more });
}

/** Rounds of a probe of each version, half a minute apart; `bad` of the candidate's. */
function answer(made: TestStage, rounds: number, bad: Partial<Outcome> = {}, both = false): Action[] {
  const all: Action[] = [];
  for (let round = 0; round < rounds; round++) {
    all.push(...made.wait(30));
    const asked = (version: number, more: Partial<Outcome>) =>
      made.requests(version, 1, { source: "probe", cost_usd: 0.0001, ...more });
    all.push(...made.batch([...asked(1, both ? bad : {}), ...asked(2, bad)]));
  }
  return all;
}

describe("probes", () => {
  it("are sent to stable and candidate alike as often as git says, by the controller's own alarm", () => {
    const made = probed();
    expect(made.state.alarm).toBe(made.now + 30_000);
    for (let round = 0; round < 5; round++) {
      made.now += 30_000;
      const actions = made.send({ kind: "clock" });
      expect(sent(actions)).toEqual([{ kind: "probe", model: "chat", versions: [1, 2] }]);
      expect(alarmOf(actions)).toBeLessThanOrEqual(made.now + 30_000);
    }
    made.now += 10_000;
    expect(sent(made.send({ kind: "clock" }))).toEqual([]);
  });

  it("are sent to every arm of an A/B", () => {
    const made = probed({ strategy: "ab", candidates: [2, 3], arms: [10, 10], steps: [], control: 0 });
    expect(sent(made.wait(30))).toMatchObject([{ versions: [1, 2, 3] }]);
  });

  it("are off unless git says so, before a rollout, while it is paused, and when it is over", () => {
    const silent = stage();
    expect(sent([...silent.wait(30), ...silent.wait(30)])).toEqual([]);
    const checking = probed({ checks: ["golden"] });
    expect([sent(checking.wait(60)), checking.state.alarm]).toEqual([[], null]);
    const made = probed({ gates: [] });
    made.command("pause");
    expect([sent(made.wait(60)), made.state.alarm]).toEqual([[], null]);
    made.command("resume");
    made.command("abort");
    expect([sent(made.wait(60)), made.state.alarm]).toEqual([[], null]);
    expect(made.state.models.chat?.probing).toBeNull();
  });

  it("stop for the rest of an hour that has cost what it may, and go on with the next", () => {
    const made = probed({ strategy: "ab", arms: [10], steps: [], control: 0, probes: { every_s: 30, usd: 0.1 } });
    made.now = 3_600_000 * 500;
    made.send({ kind: "clock" });
    let spent = 0;
    const hours = [0, 0, 0];
    while (made.now < 3_600_000 * 503) {
      made.now = made.state.alarm ?? Number.NaN;
      const actions = made.send({ kind: "clock" });
      if (sent(actions).length === 0) continue;
      const hour = Math.floor(made.now / 3_600_000) - 500;
      hours[hour] = (hours[hour] ?? 0) + 0.008;
      spent += 0.008;
      made.batch([1, 2].flatMap((version) => made.requests(version, 1, { source: "probe", cost_usd: 0.004 })));
    }
    expect(spent).toBeGreaterThan(0.2);
    for (const usd of hours.slice(0, 3)) expect(usd).toBeLessThanOrEqual(0.1 + 0.008);
  });

  it("feed a gate of their own, and are never counted as what people asked", () => {
    const made = probed();
    answer(made, 20, { failed: true, cost_usd: null }, true);
    for (const name of ["errors", "json"] as const) expect(made.gate(name).candidate).toEqual({ requests: 0, bad: 0 });
    expect(made.gate("probes")).toMatchObject({
      stable: { requests: 20, bad: 20 },
      candidate: { requests: 20, bad: 20 },
    });
    made.batch(made.requests(2, 5, { failed: true }));
    expect(made.gate("probes").candidate.requests).toBe(20);
  });

  it.each([
    ["failed", { failed: true }],
    ["no JSON where it was asked for", { json: true }],
    ["too slow, and told of twice", { part: "late", total_ms: 30_000 }],
  ] as const)("roll a candidate back that nobody asks anything: %s", (_, bad) => {
    const made = probed({ gates: [...GATES, gate("latency")] });
    answer(made, 20, bad);
    expect(made.view().phase).toBe("rolled-back");
    expect(made.journal.at(-1)).toMatchObject({ kind: "rolled-back", cause: "gate:probes" });
    expect(made.journal.at(-1)?.sentence).toMatch(/probes fail, \d+ of \d+ requests of chat@2 were bad/);
  });

  it("don't call bad what no gate that enforces does", () => {
    const made = probed({ gates: [gate("errors"), gate("json", { mode: "observe" }), gate("probes")] });
    answer(made, 20, { json: true, refusal: true });
    expect(made.gate("probes").candidate).toEqual({ requests: 20, bad: 0 });
  });

  it("hold, as the platform's fault, when both versions' are bad", () => {
    const made = probed();
    answer(made, 20, { failed: true }, true);
    expect([made.view().phase, made.view().platform]).toEqual(["stepping", true]);
  });

  it("let a step be left that has hardly any traffic, and none that has too little by itself", () => {
    const few = probed();
    few.traffic(1, [9, 0], [2, 0]);
    answer(few, 110);
    expect(few.view()).toMatchObject({ step: 1, phase: "stepping" });
    const without = probed({ probes: null, gates: [gate("errors", { margin: 0.02 })] });
    without.traffic(1, [9, 0], [2, 0]);
    without.wait(7_200);
    expect(without.view().step).toBe(0);
  });

  it("let no step be left whose own requests are more than they, and not yet enough", () => {
    const made = probed();
    made.traffic(6, [25, 0], [23, 0]);
    answer(made, 110);
    expect([made.gate("errors").verdict, made.gate("probes").verdict, made.view().step]).toEqual([
      "inconclusive",
      "pass",
      0,
    ]);
  });

  it("hold nobody up whose own traffic says enough", () => {
    const made = probed({ gates: [gate("errors", { margin: 0.05 }), gate("probes")] });
    made.healthy();
    made.wait(61);
    expect(made.view().step).toBe(1);
  });

  it("that speak against the candidate hold a step that people's requests would leave", () => {
    const made = probed({ gates: [gate("errors", { margin: 0.05 }), gate("probes", { margin: 0.05 })] });
    answer(made, 1);
    answer(made, 5, { failed: true });
    made.healthy();
    made.wait(61);
    expect([made.gate("errors").verdict, made.view().step]).toEqual(["pass", 0]);
  });

  it("change no digest of a rollout that has none: it goes on over an update of the gateway", () => {
    const spec = rolled();
    const read = { ...spec, rollout: Rollout(JSON.parse(JSON.stringify(spec.rollout)), "") };
    expect(read.rollout).not.toHaveProperty("probes");
    expect(digestOf("chat", read)).toBe(digestOf("chat", spec));
  });
});
