import { describe, expect, it } from "vitest";
import { modelsWith, rolloutSpec } from "../test/support/rollout-spec.ts";
import { stageConfig } from "../test/support/stage.ts";
import { parseConfig } from "./config.ts";
import type { RolloutSpec, Step } from "./rollout/types.ts";

const parse = (rollout: unknown) =>
  parseConfig(JSON.stringify(stageConfig({ models: modelsWith(rollout as RolloutSpec) })));
const step = (weight: number): Step => ({ weight, hold_s: 60, approval: false, margins: {} });

describe("a rollout in the config", () => {
  it("is taken as it is", () => {
    const spec = rolloutSpec({ steps: [{ ...step(100), margins: { errors: 0.05 } }], checks: ["golden"] });
    expect(parse(spec).models.chat?.rollout).toEqual(spec);
  });

  it("may be absent, and nobody is told of it unless the config says who", () => {
    const config = parseConfig(JSON.stringify(stageConfig()));
    expect(config.models.chat?.rollout).toBeNull();
    expect(config.rollouts).toEqual({ webhook_secret: null, format: "json" });
  });

  const fields: [string, Partial<RolloutSpec>, string][] = [
    ["a stable that does not exist", { stable: 9 }, "stable: version 9 does not exist"],
    ["a candidate that does not exist", { candidates: [9] }, "candidates.0: version 9 does not exist"],
    ["a candidate that is stable", { candidates: [1] }, "candidates.0: version 1 is named twice"],
    ["two candidates of a canary", { candidates: [2, 3] }, "candidates: a canary rollout has one"],
    ["no step", { steps: [] }, "steps: must be at least one"],
    ["steps that fall", { steps: [step(50), step(10)] }, "steps.1.weight: must be more than 50"],
    ["a blue-green of two steps", { strategy: "blue-green" }, "steps: a blue-green rollout has one step"],
    ["arms of a canary", { arms: [10] }, "arms: only an ab rollout has them"],
    ["an ab of too few arms", { strategy: "ab", steps: [] }, "arms: must be as many as candidates"],
    ["a shadow that mirrors nothing", { strategy: "shadow", steps: [] }, "mirror: must be at least 1"],
    ["steps of a shadow", { strategy: "shadow", mirror: 5 }, "steps: a rollout by shadow has none"],
    [
      "a limit without its figure",
      { gates: [{ name: "latency", margin: 0.05, slo: null, mode: "enforce" }] },
      "gates.0.slo: latency needs one",
    ],
    ["no field at all", { alpha: undefined as never }, "alpha: is missing"],
  ];
  it.each(fields)("is refused with %s", (_, changes, fault) => {
    const spec = rolloutSpec(changes);
    const versions = { "1": {}, "2": {}, "3": {} };
    const backend = { backend: "workers-ai", id: "@cf/a/b" };
    const models = modelsWith(spec, {
      versions: Object.fromEntries(Object.keys(versions).map((key) => [key, backend])),
      split: [[1, 100]],
    });
    expect(() => parseConfig(JSON.stringify(stageConfig({ models })))).toThrow(`models.chat.rollout.${fault}`);
  });
});
