import { describe, expect, it } from "vitest";
import { gate, stage, step, type TestStage } from "../../test/support/rollout.ts";

/** Both arms fail alike. */
function fault(made: TestStage, rounds = 6): void {
  made.traffic(rounds, [5, 20], [5, 20]);
}

/** Both are well again, a second at a time, until that has been noticed. */
function recover(made: TestStage, done = () => !made.view().platform): void {
  for (let second = 0; second < 1_000 && !done(); second++) {
    made.now += 1_000;
    made.traffic(1, [25, 0], [25, 0]);
  }
}

describe("a fault of both arms", () => {
  it("is over when it has been for half a minute, so that a rate near the limit tells nobody again and again", () => {
    const made = stage();
    for (let minute = 0; minute < 20; minute++) {
      made.now += 20_000;
      fault(made, 4);
      made.traffic(12, [25, 0], [25, 0]);
    }
    expect(made.journal.map(({ kind }) => kind)).toEqual(["start", "platform"]);
    expect(made.view().waiting).toBe(
      "chat: chat@2 at 10 % holds: stable was as bad, and must have been well for 30 s more (platform).",
    );
    // Also when nobody asks any more.
    expect(made.state.alarm).toBe(made.now + 30_000);
    made.wait(29);
    expect(made.view().platform).toBe(true);
    made.wait(1);
    expect(made.view().platform).toBe(false);
  });

  it("holds weights and clock, keeps the rest of the hold, and goes on after it", () => {
    const made = stage({ gates: [gate("errors", { margin: 0.3 })] });
    made.healthy();
    made.wait(400);
    fault(made);
    expect(made.view()).toMatchObject({ platform: true, phase: "stepping", step: 0, until: null });
    expect(made.state.alarm).toBeNull();
    expect(made.sentences(1)).toEqual(["chat: chat@2 at 10 % holds: chat@1 is as bad, errors of both (platform)."]);
    made.wait(10_000);
    expect(made.view()).toMatchObject({ platform: true, step: 0 });
    recover(made);
    expect(made.sentences(1)[0]).toMatch(
      /^chat: chat@2 at 10 % goes on: what was bad in both is over after 2 h 4\d min\.$/,
    );
    expect(made.view().until).toBe(made.now + 200_000);
    made.traffic(40, [25, 0], [25, 0]);
    made.wait(200);
    expect(made.view().step).toBe(1);
  });

  it("is told once when it begins and once when it ends, and rolls nothing back", () => {
    const made = stage();
    for (let round = 0; round < 10; round++) fault(made);
    recover(made);
    for (let round = 0; round < 10; round++) made.healthy();
    expect(made.journal.map(({ kind }) => kind)).toEqual(["start", "platform", "platform"]);
    expect(made.journal.slice(1).map(({ cause }) => cause)).toEqual(["gate:errors", "gates"]);
  });

  it("freezes the watch too", () => {
    const made = stage({ watch_s: 100 });
    made.command("promote");
    made.wait(40);
    fault(made);
    made.wait(1000);
    expect(made.view()).toMatchObject({ phase: "watching", platform: true });
    recover(made);
    made.wait(59);
    expect(made.view().phase).toBe("watching");
    made.wait(1);
    expect(made.view().phase).toBe("promoted");
  });

  it("keeps a watch from ending that was over already, and waits under suspicion", () => {
    const made = stage({ watch_s: 60, gates: [gate("errors", { margin: 0.9 })] });
    made.command("promote");
    made.traffic(4, [25, 0], [0, 25]);
    made.wait(60);
    expect(made.gate("errors").reason).toBe("suspect");
    expect(made.view().waiting).toBe("chat: chat@2 at 95 %: the candidate is suspect in errors.");
    fault(made);
    made.wait(60);
    expect(made.view()).toMatchObject({ phase: "watching", platform: true });
    recover(made, () => made.view().phase !== "watching");
    expect(made.view()).toMatchObject({ phase: "promoted", platform: false });
  });

  it("does not keep a person from acting", () => {
    const made = stage();
    fault(made);
    made.command("abort");
    expect(made.view()).toMatchObject({ phase: "aborted", platform: false });
  });

  it("keeps the clock still through a resume and a promotion, until it is over", () => {
    const made = stage();
    fault(made);
    made.command("pause");
    made.command("resume");
    expect(made.view().until).toBeNull();
    made.command("promote");
    expect(made.view()).toMatchObject({ phase: "watching", until: null });
    recover(made);
    expect(made.view().until).toBe(made.now + 3_600_000);
  });

  it("is no fault of both when only a gate that observes sees it", () => {
    const made = stage({ gates: [gate("errors", { mode: "observe" })] });
    fault(made);
    expect(made.gate("errors").reason).toBe("platform");
    expect(made.view().platform).toBe(false);
  });
});

describe("a candidate with nothing to compare it with", () => {
  const alone = { control: 0, steps: [step(100)] } as const;
  const failing = (made: TestStage) => made.batch(made.requests(2, 30, { failed: true }));

  it("holds by default, however bad it is", () => {
    const made = stage(alone);
    failing(made);
    made.wait(100_000);
    expect(made.gate("errors")).toMatchObject({ verdict: "inconclusive", reason: "suspect" });
    expect(made.view().phase).toBe("stepping");
    expect(made.view().waiting).toBe("chat: chat@2 at 100 %: the candidate is suspect in errors.");
  });

  it("rolls back after the grace time where git says so", () => {
    const made = stage({ ...alone, no_control: "rollback", grace_s: 300 });
    failing(made);
    expect(made.state.alarm).toBe(made.now + 300_000);
    made.wait(299);
    expect(made.view().phase).toBe("stepping");
    made.wait(1);
    expect(made.view().phase).toBe("rolled-back");
    expect(made.sentences(1)).toEqual([
      "chat: rolled back to chat@1: errors of chat@2 stayed over 20 % for 5 min, with nothing of chat@1 to compare.",
    ]);
  });

  it("is not rolled back when it recovers within the grace time", () => {
    const made = stage({ ...alone, no_control: "rollback", grace_s: 300 });
    failing(made);
    made.wait(200);
    for (let round = 0; round < 20; round++) made.batch(made.requests(2, 50));
    made.wait(200);
    expect(made.view().phase).toBe("stepping");
  });

  it("does not end its watch while it is suspect", () => {
    const made = stage({ ...alone, watch_s: 60 });
    made.command("promote");
    failing(made);
    made.wait(60);
    expect(made.view()).toMatchObject({ phase: "watching" });
    for (let round = 0; round < 20; round++) made.batch(made.requests(2, 50));
    expect(made.view().phase).toBe("promoted");
  });
});
