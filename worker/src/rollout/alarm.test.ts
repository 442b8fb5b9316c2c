import { describe, expect, it } from "vitest";
import { alarmOf, rolled, split, step, TestStage } from "../../test/support/rollout.ts";

const held = (hold_s: number) => rolled({ gates: [], steps: [step(10, { hold_s }), step(100, { hold_s: 900 })] });

describe("the alarm", () => {
  it("is for the hold that is over first, of all models", () => {
    const made = new TestStage();
    made.spec({ chat: held(300), mail: held(100) });
    const begun = made.now;
    expect(made.state.alarm).toBe(begun + 100_000);
    expect(alarmOf(made.wait(100))).toBe(begun + 300_000);
    expect(alarmOf(made.wait(200))).toBe(begun + 1_000_000);
  });

  it("is told when it changes, and not otherwise", () => {
    const made = new TestStage();
    made.spec({ chat: held(300) });
    expect(alarmOf(made.batch(made.requests(1, 5)))).toBeUndefined();
    expect(alarmOf(made.command("pause"))).toBeNull();
    expect(alarmOf(made.command("resume"))).toBe(made.now + 300_000);
    made.spec({ chat: split([1, 100]) });
    expect(made.state.alarm).toBeNull();
  });

  it("that comes too early is told once more", () => {
    const made = new TestStage();
    made.spec({ chat: held(300) });
    expect(alarmOf(made.wait(299))).toBe(made.now + 1000);
  });

  it("that is late changes nothing: the hold is over for whatever comes first", () => {
    const made = new TestStage();
    made.spec({ chat: held(300), mail: split([1, 100]) });
    made.now += 300_000;
    made.batch(made.requests(1, 5, { model: "mail" }));
    expect(made.view("chat")).toMatchObject({ step: 1 });
    expect(made.journal.at(-1)?.cause).toBe("clock");
    expect(made.state.alarm).toBe(made.now + 900_000);
  });

  it("finds a command after the hold at the next step", () => {
    const made = new TestStage();
    made.spec({ chat: held(300) });
    made.now += 400_000;
    made.command("pause");
    expect(made.sentences(2)).toEqual([
      "chat: chat@2 goes from 10 % to 95 %: its hold of 6 min 40 s is over.",
      "chat: chat@2 at 95 % is paused by ann.",
    ]);
  });
});
