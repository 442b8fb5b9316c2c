import { describe, expect, it } from "vitest";
import { gate, stage, type TestStage } from "../../test/support/rollout.ts";
import type { Outcome } from "./types.ts";

const GATES = [gate("errors"), gate("json"), gate("first_token")];

/** Rounds of 25 good requests of each arm, of which so many asked for JSON, and nobody for a stream. */
function healthy(made: TestStage, rounds: number, json: number): void {
  for (let round = 0; round < rounds; round++) {
    const asks = (version: number, count: number, more: Partial<Outcome>) =>
      made.requests(version, count, { first_token_ms: null, ...more });
    made.batch([1, 2].flatMap((version) => [...asks(version, 25 - json, {}), ...asks(version, json, { json: false })]));
  }
}

describe("a gate with little to judge", () => {
  it.each([
    ["none", []],
    ["one request of stable", [1]],
    ["one request of the candidate", [2]],
  ])("holds nobody up once another has passed: %s", (_, versions) => {
    const made = stage({ gates: GATES });
    made.batch(versions.flatMap((version) => made.requests(version, 1, { json: false, first_token_ms: null })));
    made.wait(600);
    expect(made.view().step).toBe(0);
    healthy(made, 12, 0);
    expect(made.view().step).toBe(1);
  });

  it("is waited for when one in 25 requests is for it, until it has passed", () => {
    const made = stage({ gates: GATES });
    made.wait(600);
    healthy(made, 20, 1);
    expect(made.view()).toMatchObject({ step: 0, waiting: expect.stringContaining("JSON") });
    for (let round = 0; round < 100 && made.view().step === 0; round++) healthy(made, 1, 1);
    expect(made.view().step).toBe(1);
    expect(made.gate("json").candidate.requests).toBeGreaterThanOrEqual(50);
  });

  it("is waited for in a step that has brought nothing for it, when the steps before did", () => {
    const made = stage({ gates: GATES });
    made.wait(600);
    for (let round = 0; round < 100 && made.view().step === 0; round++) healthy(made, 1, 5);
    expect(made.view().step).toBe(1);
    made.wait(600);
    healthy(made, 12, 0);
    expect(made.view()).toMatchObject({ step: 1, waiting: expect.stringContaining("JSON") });
    // They do not come back: some day it is rare.
    for (let round = 0; round < 1_000 && made.view().step === 1; round++) healthy(made, 1, 0);
    expect(made.view().step).toBe(2);
  });

  it("is waited for, however rare, while what it has seen speaks against the candidate", () => {
    const made = stage({ gates: GATES });
    made.wait(600);
    healthy(made, 1, 0);
    for (let round = 0; round < 6; round++) {
      const json = (version: number, bad: boolean) => made.requests(version, 1, { json: bad, first_token_ms: null });
      made.batch([...json(1, false), ...json(2, true)]);
    }
    healthy(made, 20, 0);
    expect(made.view()).toMatchObject({ step: 0, waiting: expect.stringContaining("JSON") });
  });
});

it.each([{ candidate: 3 }, { stable: 2 }, { stable: 3, candidate: 2 }])(
  "golden prompts of other versions, %j, say nothing of a rollout",
  (versions) => {
    const made = stage({ checks: ["golden"] });
    const refused = made.check("pass", "48 of 50", versions);
    expect(refused).toMatchObject([{ kind: "refuse", code: "other_versions" }]);
    expect(made.view().phase).toBe("checking");
    made.check("pass", "48 of 50", { stable: 1, candidate: 2 });
    expect(made.view().phase).toBe("stepping");
  },
);
