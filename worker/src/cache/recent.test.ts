import { describe, expect, it } from "vitest";
import type { Answer } from "../backends/backend.ts";
import { RecentAnswers } from "./recent.ts";

const answer = (content: string): Answer => ({
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
  usage: null,
});

describe("RecentAnswers", () => {
  it("gives an answer until its time is over, and a minute at most", () => {
    let now = 1_000;
    const recent = new RecentAnswers(() => now);
    recent.put("short", answer("a"), 1, 6_000);
    recent.put("long", answer("b"), 1, 600_000);
    now = 5_999;
    expect(recent.get("short")).toEqual(answer("a"));
    now = 6_000;
    expect(recent.get("short")).toBeNull();
    now = 60_999;
    expect(recent.get("long")).toEqual(answer("b"));
    now = 61_000;
    expect(recent.get("long")).toBeNull();
  });

  it("forgets what was asked for longest ago, by number", () => {
    const recent = new RecentAnswers(() => 0);
    for (let at = 0; at < 200; at++) recent.put(`k${at}`, answer("x"), 1, 1_000);
    expect(recent.get("k0")).not.toBeNull();
    recent.put("one more", answer("x"), 1, 1_000);
    expect(recent.get("k0")).not.toBeNull();
    expect(recent.get("k1")).toBeNull();
  });

  it("forgets by size, also over replacements", () => {
    const recent = new RecentAnswers(() => 0);
    for (let at = 0; at < 20; at++) recent.put("same", answer("x"), 1_000_000, 1_000);
    recent.put("a", answer("x"), 1_000_000, 1_000);
    recent.put("b", answer("x"), 1_000_000, 1_000);
    expect(recent.get("same")).not.toBeNull();
    recent.put("c", answer("x"), 2_500_000, 1_000);
    expect(["a", "b", "same", "c"].map((key) => recent.get(key) !== null)).toEqual([false, false, true, true]);
  });
});
