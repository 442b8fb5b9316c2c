import { describe, expect, it } from "vitest";
import { random } from "../../test/support/random.ts";
import { gate, rolled, stage, TestStage } from "../../test/support/rollout.ts";
import { liveSplits, rampView } from "./core.ts";
import type { RampOrder } from "./ramp.ts";
import type { Outcome, RampView } from "./types.ts";

const GATES = [gate("errors", { margin: 0.02 }), gate("json", { margin: 0.02 }), gate("latency", { margin: 0.02 })];

class Ramped extends TestStage {
  #numbers = 0;

  ramp(more: Partial<RampOrder> = {}): void {
    const order = { old: "old", new: "new", since: this.now, step: this.now, gates: GATES, ...more };
    this.send({ kind: "ramp", order });
  }

  /** What an isolate of a worker version tells of requests of any model. */
  tell(worker: string, count: number, more: Partial<Outcome> = {}, number = ++this.#numbers): void {
    const outcomes = this.requests(0, count, { model: "", json: false, ...more });
    this.send({ kind: "batch", batch: { isolate: worker, number, outcomes, feedback: [] }, worker });
  }

  /** Rounds of requests of both, of which some of the new version's are bad. */
  serve(rounds: number, bad = 0, more: Partial<Outcome> = { failed: true }): void {
    for (let round = 0; round < rounds; round++) {
      this.tell("old", 40);
      this.tell("new", 10 - bad);
      if (bad > 0) this.tell("new", bad, more);
    }
  }

  get seen(): RampView {
    const view = rampView(this.state.ramp);
    if (view === null) throw new Error("nothing is compared");
    return view;
  }
}

describe("two worker versions", () => {
  it("are compared by the gates that rollouts have, once somebody asks", () => {
    const made = new Ramped();
    made.tell("new", 50, { failed: true });
    expect(rampView(made.state.ramp)).toBeNull();
    made.ramp();
    expect(made.seen).toMatchObject({ old: "old", new: "new", verdict: "inconclusive", gate: "errors" });
    made.serve(60);
    expect(made.seen).toMatchObject({ verdict: "pass", gate: null, reason: null });
    expect(made.seen.gates.map(({ name }) => name)).toEqual(["errors", "json", "latency"]);
    expect(made.seen.gates[0]).toMatchObject({ stable: { requests: 2400, bad: 0 }, candidate: { requests: 600 } });
  });

  it.each([
    ["errors", { failed: true }],
    ["json", { json: true }],
    ["latency", { total_ms: 11_000 }],
  ] as const)("fail by the gate that is at fault: %s", (name, more) => {
    const made = new Ramped();
    made.ramp();
    made.serve(40, 3, more);
    expect(made.seen).toMatchObject({ verdict: "fail", gate: name, reason: null });
    made.serve(100);
    expect(made.seen.verdict).toBe("fail");
  });

  it("hold for a fault that both have, and go on when it is over", () => {
    const made = new Ramped();
    made.ramp();
    for (let round = 0; round < 20; round++)
      for (const worker of ["old", "new"]) made.tell(worker, 20, { failed: true });
    expect(made.seen).toMatchObject({ verdict: "inconclusive", gate: "errors", reason: "platform" });
    for (let round = 0; round < 100; round++) for (const worker of ["old", "new"]) made.tell(worker, 20);
    expect(made.seen).toMatchObject({ verdict: "inconclusive", reason: "inconclusive" });
  });

  it("need requests of both: a new version that is bad alone is suspect, not failed", () => {
    const made = new Ramped();
    made.ramp();
    made.tell("new", 30, { failed: true });
    expect(made.seen).toMatchObject({ verdict: "inconclusive", reason: "suspect" });
  });

  it("keep what speaks against the new one over the steps, and earn each step's pass anew", () => {
    const made = new Ramped();
    const since = made.now;
    made.ramp();
    made.serve(60);
    made.now += 600_000;
    made.ramp({ since });
    expect(made.seen.verdict).toBe("inconclusive");
    expect(made.seen.gates[0]?.candidate.requests).toBe(600);
    made.serve(60);
    expect(made.seen.verdict).toBe("pass");
    made.tell("new", 30, { at: made.now - 1, failed: true });
    expect(made.seen.gates[0]?.candidate).toEqual({ requests: 1200, bad: 0 });
  });

  it("go on where they were when a runner was killed and asks again, also late", () => {
    const made = new Ramped();
    const since = made.now;
    made.now += 5_000;
    made.ramp({ since });
    made.serve(60);
    made.ramp({ since });
    made.ramp({ since, step: since });
    expect(made.seen).toMatchObject({ verdict: "pass", step: since + 5_000 });
  });

  it.each([{ old: "older" }, { new: "newer" }, { since: 7 }])(
    "begin anew as others, or as another try: %o",
    (other) => {
      const made = new Ramped();
      const since = made.now;
      made.ramp();
      made.serve(40, 5);
      expect(made.seen.verdict).toBe("fail");
      made.ramp({ since, ...other });
      expect(made.seen.gates[0]?.candidate.requests).toBe(0);
    },
  );

  it("count no batch twice, no third version, no shadow and no probe, and a late request when it is over", () => {
    const made = new Ramped();
    made.ramp();
    made.tell("new", 3, {}, 1);
    made.tell("new", 3, {}, 1);
    made.tell("new", 3);
    made.tell("third", 3);
    made.tell("new", 1, { source: "shadow" });
    made.tell("new", 1, { source: "probe" });
    made.tell("new", 1, { part: "late", total_ms: 10_001 });
    made.tell("new", 1, { part: "rest", total_ms: 30_000 });
    expect(made.seen.gates.map(({ candidate }) => candidate)).toEqual([
      { requests: 4, bad: 0 },
      { requests: 4, bad: 0 },
      { requests: 4, bad: 1 },
    ]);
  });

  it("move no rollout of a model, and are moved by none", () => {
    const made = new Ramped();
    made.spec({ chat: rolled() });
    const before = made.view();
    made.ramp();
    made.serve(40, 5);
    expect({ ...made.view(), waiting: "" }).toEqual({ ...before, waiting: "" });
    made.broken();
    expect(made.view().phase).toBe("rolled-back");
    expect(made.seen.verdict).toBe("fail");
  });

  it("are told of by every isolate for as long as somebody asks, or for a day", () => {
    const made = new Ramped();
    expect(liveSplits(made.state).ramp).toBe(false);
    made.ramp();
    expect(liveSplits(made.state).ramp).toBe(true);
    made.send({ kind: "ramp", order: null });
    expect([liveSplits(made.state).ramp, rampView(made.state.ramp)]).toEqual([false, null]);
    made.ramp();
    made.now += 86_400_001;
    made.tell("new", 1);
    expect(liveSplits(made.state).ramp).toBe(false);
  });

  it("are no false alarm in a hundred ramps of as good a version", () => {
    let failed = 0;
    for (let seed = 1; seed <= 100; seed++) {
      const made = new Ramped();
      made.ramp();
      const dice = random(seed);
      const bad = () => dice() < 0.02;
      for (let round = 0; round < 20; round++) {
        for (const [worker, count] of [
          ["old", 18],
          ["new", 2],
        ] as const) {
          const failures = Array.from({ length: count }, bad).filter(Boolean).length;
          made.tell(worker, failures, { failed: true });
          made.tell(worker, count - failures);
        }
      }
      if (made.seen.verdict === "fail") failed++;
    }
    expect(failed).toBeLessThanOrEqual(1);
  });
});

it("a stage whose state is of before there were any has no ramp", () => {
  expect(liveSplits(stage().state).ramp).toBe(false);
});
