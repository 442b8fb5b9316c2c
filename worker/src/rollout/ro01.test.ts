import { describe, expect, it } from "vitest";
import { rolled, step, TestStage } from "../../test/support/rollout.ts";

function stage(...weights: number[]): TestStage {
  const made = new TestStage();
  made.spec({ chat: rolled({ steps: weights.map((weight) => step(weight, { hold_s: 60 })) }) });
  return made;
}

/** Requests of the candidate, beside nine times as many good ones of stable, in batches of ten of the candidate. */
function feed(made: TestStage, count: number, bad: number): void {
  for (let done = 0; done < count; done += 10) {
    const size = Math.min(10, count - done);
    const failed = Math.round((bad * (done + size)) / count) - Math.round((bad * done) / count);
    made.traffic(1, [90, 0], [size - failed, failed]);
  }
}

describe("ro_01", () => {
  it.each([
    [0, 0],
    [2, 1],
  ])("ro_01_holds_on_%i_requests_with_%i_errors", (count, bad) => {
    const made = stage(10, 50, 100);
    feed(made, count, bad);
    made.wait(100_000);
    expect(made.view()).toMatchObject({ phase: "stepping", step: 0 });
    expect(made.gate("errors").verdict).toBe("inconclusive");
    expect(made.view().waiting).toBe("chat: chat@2 at 10 %: errors not passed yet.");
  });

  it("ro_01_goes_on_with_1_error_in_100_requests_once_that_is_enough_to_say", () => {
    const made = stage(10, 50, 100);
    feed(made, 100, 1);
    expect(made.view().phase).toBe("stepping");
    feed(made, 200, 2);
    made.wait(60);
    expect(made.view()).toMatchObject({ phase: "stepping", step: 1 });
  });

  it("ro_01_rolls_back_at_20_errors_in_100_requests", () => {
    const made = stage(10, 50, 100);
    feed(made, 100, 20);
    expect(made.view().phase).toBe("rolled-back");
  });

  it("ro_01_holds_when_nothing_is_reported_of_the_candidate", () => {
    const made = stage(10, 50, 100);
    for (let round = 0; round < 50; round++) made.batch(made.requests(1, 50));
    made.wait(100_000);
    expect(made.view()).toMatchObject({ phase: "stepping", step: 0 });
  });

  it("ro_01_a_single_step_of_100_is_judged_before_it_is_called_done", () => {
    const idle = stage(100);
    idle.wait(100_000);
    expect(idle.view()).toMatchObject({ phase: "stepping", step: 0 });

    const bad = stage(100);
    feed(bad, 100, 20);
    expect(bad.view()).toMatchObject({ phase: "rolled-back", weights: [[1, 100]] });
    expect(bad.journal.some(({ kind }) => kind === "promoted")).toBe(false);
  });

  it("ro_01_is_judged_at_each_weight_and_after_100", () => {
    const made = stage(10, 50, 100);
    const weights: unknown[] = [];
    for (const index of [0, 1, 2]) {
      weights.push(made.view().weights.at(-1));
      made.wait(60);
      expect(made.view().step).toBe(index);
      while (made.view().step === index) feed(made, 10, 0);
    }
    expect(weights).toEqual([
      [2, 10],
      [2, 50],
      [2, 95],
    ]);
    expect(made.view().phase).toBe("watching");
    feed(made, 200, 40);
    expect(made.view().phase).toBe("rolled-back");
  });

  it("ro_01_a_breach_acts_while_it_waits_for_approval", () => {
    const made = new TestStage();
    made.spec({ chat: rolled({ steps: [step(10, { approval: true, hold_s: 60 }), step(100)] }) });
    feed(made, 300, 0);
    made.wait(60);
    expect(made.view().phase).toBe("awaiting");
    feed(made, 200, 40);
    expect(made.view().phase).toBe("rolled-back");
  });

  it("ro_01_compares_with_stable_at_the_same_time", () => {
    const made = stage(10, 50, 100);
    for (let round = 0; round < 10; round++) made.traffic(1, [72, 18], [8, 2]);
    expect(made.view().phase).toBe("stepping");
  });
});
