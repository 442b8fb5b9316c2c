import { describe, expect, it } from "vitest";
import { alarmOf, gate, rolloutSpec, stage, step, type TestStage } from "../../test/support/rollout.ts";
import { liveSplits } from "./core.ts";
import { settingsOf } from "./judging.ts";

describe("a canary", () => {
  it("begins at its first step, with an alarm at the end of the hold", () => {
    const made = stage();
    expect(made.view()).toMatchObject({ phase: "stepping", step: 0, until: made.now + 600_000 });
    expect(made.view().weights).toEqual([
      [1, 90],
      [2, 10],
    ]);
    expect(made.state.alarm).toBe(made.now + 600_000);
    expect(made.sentences(1)).toEqual(["chat: canary of chat@2 against chat@1 begins at 10 %."]);
  });

  it("leaves a step when the hold is over and every gate has passed, not before", () => {
    const made = stage();
    made.healthy();
    expect(made.gate("errors").verdict).toBe("pass");
    made.wait(599);
    expect(made.view().step).toBe(0);
    made.wait(1);
    expect(made.view()).toMatchObject({ phase: "stepping", step: 1 });
    expect(made.view().weights).toEqual([
      [1, 50],
      [2, 50],
    ]);
    expect(made.sentences(1)).toEqual(["chat: chat@2 goes from 10 % to 50 %: all gates pass after 10 min."]);
    expect(made.journal.at(-1)).toMatchObject({ kind: "step", cause: "clock", phase: "stepping" });
    expect(made.journal.at(-1)?.gates[0]).toMatchObject({ name: "errors", verdict: "pass" });
  });

  it("goes on at the batch that makes the last gate pass, when the hold is over already", () => {
    const made = stage();
    expect(alarmOf(made.wait(600))).toBeNull();
    expect(made.view().step).toBe(0);
    made.healthy();
    expect(made.view().step).toBe(1);
    expect(made.journal.at(-1)?.cause).toBe("gates");
  });

  it("earns each step's pass anew", () => {
    const made = stage();
    made.healthy();
    made.wait(600);
    made.wait(600);
    expect(made.view()).toMatchObject({ step: 1 });
    expect(made.gate("errors").verdict).toBe("inconclusive");
    made.healthy();
    expect(made.view()).toMatchObject({ step: 2 });
  });

  it("is promoted after 100 %, watched, and then has it all", () => {
    const made = stage();
    for (const weight of [10, 50, 95]) {
      expect(made.view().weights.at(-1)).toEqual([2, weight]);
      made.healthy();
      made.wait(600);
    }
    expect(made.view()).toMatchObject({ phase: "watching", step: null, until: made.now + 3_600_000 });
    expect(made.view().weights).toEqual([
      [1, 5],
      [2, 95],
    ]);
    expect(made.sentences(1)).toEqual([
      "chat: chat@2 is promoted: all gates pass after 10 min. It is watched for 1 h.",
    ]);
    made.wait(3600);
    expect(made.view()).toMatchObject({ phase: "promoted", until: null });
    expect(made.view().weights).toEqual([[2, 100]]);
    expect(made.sentences(1)).toEqual(["chat: chat@2 has it all: no gate failed in 1 h of watch."]);
    expect(made.state.alarm).toBeNull();
  });

  it("is judged at 100 % also where its last step stops before", () => {
    const made = stage({ steps: [step(50)] });
    made.healthy();
    made.wait(600);
    expect(made.view()).toMatchObject({ phase: "stepping", step: 1 });
    expect(made.view().weights.at(-1)).toEqual([2, 95]);
  });

  it("takes a step's own margins in that step alone", () => {
    const made = stage({ steps: [step(10, { margins: { errors: 0.1 } }), step(100)], gates: [gate("errors")] });
    expect(made.gate("errors").margin).toBe(0.1);
    made.healthy();
    made.wait(600);
    expect(made.gate("errors").margin).toBe(0.05);
  });

  it("moves by its holds alone where it has no gates", () => {
    const made = stage({ gates: [], steps: [step(10, { hold_s: 0 }), step(100, { hold_s: 60 })], watch_s: 0 });
    expect(made.view()).toMatchObject({ step: 1 });
    made.wait(60);
    expect(made.view().phase).toBe("promoted");
    expect(made.journal.map(({ kind }) => kind)).toEqual(["start", "step", "promoted", "done"]);
  });

  it("looks at a gate that observes, and is not moved by it", () => {
    const made = stage({ gates: [gate("errors", { mode: "observe" })] });
    made.broken();
    expect(made.gate("errors").verdict).toBe("fail");
    expect(made.view().phase).toBe("stepping");
    made.wait(600);
    expect(made.view().step).toBe(1);
  });
});

describe("approval", () => {
  const steps = [step(10, { approval: true }), step(100)];

  it("waits for a person at the end of its step, and moves one step on", () => {
    const made = stage({ steps });
    made.healthy();
    made.wait(600);
    expect(made.view()).toMatchObject({ phase: "awaiting", until: null });
    expect(made.view().weights.at(-1)).toEqual([2, 10]);
    made.wait(100_000);
    expect(made.view().phase).toBe("awaiting");
    made.command("promote", { reason: "looks good" });
    expect(made.view()).toMatchObject({ phase: "stepping", step: 1 });
    expect(made.sentences(1)).toEqual(["chat: chat@2 goes from 10 % to 95 %, approved by ann, looks good."]);
  });

  it("of the last step promotes", () => {
    const made = stage({ steps: [step(100, { approval: true })] });
    made.healthy();
    made.wait(600);
    made.command("promote");
    expect(made.view().phase).toBe("watching");
  });
});

describe("a gate that fails", () => {
  it("rolls back in a step, and says in numbers why", () => {
    const made = stage();
    made.batch([...made.requests(1, 100), ...made.requests(2, 8), ...made.requests(2, 12, { failed: true })]);
    made.broken();
    expect(made.view()).toMatchObject({ phase: "rolled-back", held: true, until: null, step: null });
    expect(made.view().weights).toEqual([[1, 100]]);
    expect(made.journal.at(-1)).toMatchObject({ kind: "rolled-back", cause: "gate:errors" });
    expect(made.journal.at(-1)?.sentence).toMatch(
      /^chat: rolled back to chat@1: errors fail, \d+ of \d+ requests of chat@2 were bad and 0 of \d+ of chat@1\.$/,
    );
    expect(made.state.alarm).toBeNull();
  });

  it("rolls back while a person's pause lasts", () => {
    const made = stage();
    made.command("pause");
    made.broken();
    expect(made.view().phase).toBe("rolled-back");
  });

  it("rolls back during the watch, and not after it", () => {
    const made = stage();
    made.command("promote");
    made.broken();
    expect(made.view().phase).toBe("rolled-back");

    const late = stage({ watch_s: 60 });
    late.command("promote");
    late.wait(60);
    late.broken();
    expect(late.view().phase).toBe("promoted");
  });

  it("with on_fail hold pauses once, and keeps the weights", () => {
    const made = stage({ on_fail: "hold" });
    made.broken();
    expect(made.view()).toMatchObject({ phase: "paused", paused_from: "stepping", until: null });
    expect(made.view().weights.at(-1)).toEqual([2, 10]);
    const told = made.journal.length;
    made.broken();
    made.wait(10_000);
    expect(made.journal.length).toBe(told);
    expect(made.sentences(1)[0]).toMatch(/^chat: chat@2 at 10 % is paused: errors fail, /);
    expect(made.view().waiting).toBe("chat: chat@2 at 10 % is paused, since errors fail.");
  });

  it("with on_fail hold is judged anew once a person has resumed it", () => {
    const made = stage({ on_fail: "hold" });
    made.broken();
    made.command("resume");
    expect(made.view().phase).toBe("stepping");
    expect(made.gate("errors").candidate.requests).toBe(0);
    made.healthy();
    made.wait(600);
    expect(made.view().step).toBe(1);
    made.broken();
    expect(made.view().phase).toBe("paused");
  });

  it("is named, when several gates are judged", () => {
    const made = stage({ gates: [gate("errors"), gate("json"), gate("refusals"), gate("latency"), gate("cost")] });
    for (let round = 0; round < 6; round++) {
      made.batch([...made.requests(1, 25, { json: false }), ...made.requests(2, 25, { json: true })]);
    }
    expect(made.journal.at(-1)).toMatchObject({ kind: "rolled-back", cause: "gate:json" });
    expect(made.sentences(1)[0]).toContain("JSON fails, ");
  });

  it("leaves a shadow alone, which harms nobody", () => {
    const made = stage({ strategy: "shadow", steps: [], mirror: 20 });
    for (let round = 0; round < 6; round++) {
      made.batch([...made.requests(1, 25), ...made.requests(2, 25, { failed: true, source: "shadow" })]);
    }
    expect(made.gate("errors").verdict).toBe("fail");
    expect(made.view().phase).toBe("measuring");
  });
});

describe("blue-green", () => {
  const blueGreen = { strategy: "blue-green", steps: [step(100)], checks: ["golden"] } as const;

  it("checks at 0 %, then flips once to all but the control", () => {
    const made = stage(blueGreen);
    expect(made.view()).toMatchObject({ phase: "checking", until: null });
    expect(made.view().weights).toEqual([
      [1, 100],
      [2, 0],
    ]);
    made.wait(10_000);
    expect(made.view().phase).toBe("checking");
    made.check("pass");
    expect(made.view()).toMatchObject({ phase: "stepping", step: 0 });
    expect(made.view().weights).toEqual([
      [1, 5],
      [2, 95],
    ]);
    expect(made.sentences(2)).toEqual([
      "chat: golden prompts of chat@2 pass: 48 of 50 prompts.",
      "chat: blue-green of chat@2 against chat@1 begins at 95 %.",
    ]);
  });

  it("never starts when its check fails", () => {
    const made = stage(blueGreen);
    made.check("fail", "31 of 50 prompts");
    expect(made.view()).toMatchObject({ phase: "rolled-back", held: true });
    expect(made.view().weights).toEqual([[1, 100]]);
    expect(made.sentences(1)).toEqual(["chat: rolled back to chat@1: golden prompts fail, 31 of 50 prompts."]);
    expect(made.journal.at(-1)?.cause).toBe("gate:golden");
  });

  it("waits on when its check is inconclusive", () => {
    const made = stage(blueGreen);
    made.check("inconclusive");
    expect(made.view().phase).toBe("checking");
    made.check("pass");
    expect(made.view().phase).toBe("stepping");
  });

  it("does not start while it is paused, and starts when it is resumed", () => {
    const made = stage(blueGreen);
    made.command("pause");
    made.check("pass");
    expect(made.view()).toMatchObject({ phase: "paused", paused_from: "checking" });
    made.command("resume");
    expect(made.view().phase).toBe("stepping");
  });
});

describe("the old side of a blue-green", () => {
  const warmed = (more = {}) => stage({ strategy: "blue-green", steps: [step(100)], warm_s: 300, ...more });
  const mirrors = (made: TestStage) => liveSplits(made.state).mirrors;

  it("is kept warm by a hundredth of requests for a set time after the flip", () => {
    const made = warmed();
    expect(mirrors(made)).toEqual({ chat: { version: 1, share: 1 } });
    expect(made.state.alarm).toBe(made.now + 300_000);
    const { revision } = made.state;
    made.wait(299);
    expect(mirrors(made)).toEqual({ chat: { version: 1, share: 1 } });
    made.wait(1);
    expect(mirrors(made)).toEqual({});
    expect(made.state.revision).toBeGreaterThan(revision);
  });

  it("is kept warm after the watch too, and not once it serves again", () => {
    const made = warmed({ gates: [], watch_s: 0, steps: [step(100, { hold_s: 0 })] });
    expect(made.view().phase).toBe("promoted");
    expect(mirrors(made)).toEqual({ chat: { version: 1, share: 1 } });
    made.command("rollback");
    expect(mirrors(made)).toEqual({});
  });

  it("is not called before the flip", () => {
    const made = warmed({ checks: ["golden"] });
    expect(mirrors(made)).toEqual({});
    made.command("promote");
    expect(mirrors(made)).toEqual({ chat: { version: 1, share: 1 } });
  });
});

describe("golden prompts as a gate", () => {
  it("hold a step until they are reported, and roll back when they fail", () => {
    const made = stage({ gates: [gate("golden")] });
    made.wait(600);
    expect(made.view()).toMatchObject({ step: 0 });
    made.check("pass");
    expect(made.view()).toMatchObject({ step: 1 });
    made.check("fail");
    expect(made.view().phase).toBe("rolled-back");
  });

  it("only observed move nothing", () => {
    const made = stage({ gates: [gate("golden", { mode: "observe" })] });
    made.check("fail");
    expect(made.gate("golden")).toMatchObject({ verdict: "fail", failing: 1 });
    expect(made.view().phase).toBe("stepping");
  });
});

describe("ab", () => {
  const ab = { strategy: "ab", candidates: [2, 3], arms: [20, 30], steps: [] } as const;

  it("measures at fixed weights, with a row for each arm, and never promotes", () => {
    const made = stage(ab);
    expect(made.view()).toMatchObject({ phase: "measuring", until: null });
    expect(made.view().weights).toEqual([
      [1, 50],
      [2, 20],
      [3, 30],
    ]);
    for (let round = 0; round < 12; round++) {
      made.batch([...made.requests(1, 15), ...made.requests(2, 15), ...made.requests(3, 15)]);
    }
    made.wait(100_000);
    expect(made.view().phase).toBe("measuring");
    expect(made.view().readout.map(({ version }) => version)).toEqual([2, 3]);
    for (const { gates } of made.view().readout) {
      expect(gates[0]).toMatchObject({ verdict: "pass", candidate: { requests: 180, bad: 0 } });
      expect(gates[0]?.difference).not.toBeNull();
    }
    expect(made.command("promote")).toContainEqual(expect.objectContaining({ kind: "refuse", code: "cannot_promote" }));
  });

  it("rolls back when one arm fails, and names it", () => {
    const made = stage(ab);
    made.traffic(6, [25, 0], [5, 20], 3);
    expect(made.view()).toMatchObject({ phase: "rolled-back" });
    expect(made.sentences(1)[0]).toContain("requests of chat@3 were bad");
  });

  it("names the arm with more against it, when two fail at once", () => {
    const made = stage(ab);
    const round = () => [
      ...made.requests(1, 20),
      ...made.requests(2, 5),
      ...made.requests(2, 7, { failed: true }),
      ...made.requests(3, 12, { failed: true }),
    ];
    made.batch(Array.from({ length: 8 }, round).flat());
    expect(made.sentences(1)[0]).toContain("96 of 96 requests of chat@3 were bad");
  });

  it("shares the chance of a false rollback among its arms, and the gates that enforce", () => {
    const gates = [gate("errors"), gate("json"), gate("cost", { mode: "observe" }), gate("golden")];
    const settings = settingsOf(rolloutSpec({ ...ab, gates }), gate("errors"), null);
    expect(settings).toMatchObject({ alpha: 0.005, gates: 2 });
  });
});

describe("shadow", () => {
  it("mirrors its share at 0 %, until a person ends it", () => {
    const made = stage({ strategy: "shadow", steps: [], mirror: 20 });
    expect(made.view().phase).toBe("measuring");
    expect(made.view().waiting).toBe("chat: chat@2 at 0 % is mirrored until git or a person ends it.");
    expect(made.view().weights).toEqual([
      [1, 100],
      [2, 0],
    ]);
    expect(liveSplits(made.state).mirrors).toEqual({ chat: { version: 2, share: 20 } });
    made.command("abort");
    expect(liveSplits(made.state).mirrors).toEqual({});
    expect(made.view()).toMatchObject({ phase: "aborted", held: true });
  });
});
