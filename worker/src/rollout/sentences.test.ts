import { describe, expect, it } from "vitest";
import { rolled, rolloutSpec, TestStage } from "../../test/support/rollout.ts";
import { count, duration, evidenceText, failText, listed, oneLine, rolloutText } from "./sentences.ts";
import { GATES, type GateView } from "./types.ts";

describe("duration", () => {
  it.each([
    [0, "0 s"],
    [-5, "0 s"],
    [999, "1 s"],
    [59_400, "59 s"],
    [59_600, "1 min"],
    [90_000, "1 min 30 s"],
    [600_000, "10 min"],
    [3_600_000, "1 h"],
    [3_605_000, "1 h"],
    [5_400_000, "1 h 30 min"],
    [90_000_000, "1 d 1 h"],
  ])("of %i ms is %s", (ms, text) => {
    expect(duration(ms)).toBe(text);
  });
});

describe("sentences", () => {
  it("put commas into large numbers", () => {
    expect([0, 999, 1100, 1_000_000].map(count)).toEqual(["0", "999", "1,100", "1,000,000"]);
  });

  it("say in numbers why a gate fails", () => {
    const view = {
      name: "errors",
      stable: { requests: 1100, bad: 4 },
      candidate: { requests: 58, bad: 12 },
    } as GateView;
    expect(evidenceText("chat", view, 1, 2)).toBe(
      "errors fail, 12 of 58 requests of chat@2 were bad and 4 of 1,100 of chat@1",
    );
  });

  it("have a verb that fits each gate", () => {
    expect(GATES.map(failText)).toEqual([
      "errors fail",
      "the first token's time fails",
      "latency fails",
      "speed fails",
      "JSON fails",
      "empty answers fail",
      "refusals fail",
      "guard hits fail",
      "feedback fails",
      "cost fails",
      "probes fail",
      "golden prompts fail",
    ]);
  });

  it("list words as people do", () => {
    expect([[], ["a"], ["a", "b"], ["a", "b", "c"]].map(listed)).toEqual(["", "a", "a and b", "a, b and c"]);
  });

  it("name a rollout by its strategy and versions", () => {
    const ab = rolloutSpec({ strategy: "ab", candidates: [2, 3] });
    expect(rolloutText("chat", ab)).toBe("A/B of chat@2, chat@3 against chat@1");
  });

  it("keep what people write on one line, without cutting a character in two", () => {
    expect(oneLine(" a\r\n\tb\u0000c\u2029 ")).toBe("a b c");
    expect(oneLine("🦊".repeat(9), 4)).toBe("🦊🦊🦊🦊...");
  });

  it("say what it waits for, with what is left of the clock", () => {
    const made = new TestStage();
    made.spec({ chat: rolled() });
    made.now += 90_000;
    expect(made.view().waiting).toBe("chat: chat@2 at 10 %: 8 min 30 s of its hold are left; errors not passed yet.");
    made.command("promote");
    expect(made.view().waiting).toBe("chat: chat@2 at 95 %: 1 h of its watch are left.");
    made.wait(3600);
    expect(made.view().waiting).toBe("chat: chat@2 has it all.");
  });
});
