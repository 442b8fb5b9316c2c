import { describe, expect, it } from "vitest";
import { gate, outcome } from "../../test/support/rollout.ts";
import { isBad } from "./classify.ts";
import type { GateName, Outcome } from "./types.ts";

const judged = (name: GateName, more: Partial<Outcome>, slo?: number | null) =>
  isBad(gate(name, slo === undefined ? {} : { slo }), outcome(1, more));

describe("isBad", () => {
  it.each<[GateName, Partial<Outcome>, boolean | null]>([
    ["errors", { failed: true }, true],
    ["errors", { failed: false }, false],
    ["first_token", { first_token_ms: 2001 }, true],
    ["first_token", { first_token_ms: 2000 }, false],
    ["first_token", { first_token_ms: null }, null],
    ["latency", { total_ms: 10_001 }, true],
    ["latency", { total_ms: 10_000 }, false],
    ["speed", { tokens: 100, first_token_ms: 1000, total_ms: 6001 }, true],
    ["speed", { tokens: 100, first_token_ms: 1000, total_ms: 6000 }, false],
    ["speed", { tokens: 100, first_token_ms: null, total_ms: 5001 }, true],
    ["speed", { tokens: 100, first_token_ms: 300, total_ms: 300 }, false],
    ["speed", { tokens: 7, total_ms: 60_000 }, null],
    ["speed", { tokens: null }, null],
    ["cost", { cost_usd: 0.011 }, true],
    ["cost", { cost_usd: 0.01 }, false],
    ["cost", { cost_usd: null }, null],
    ["json", { json: true }, true],
    ["json", { json: false }, false],
    ["json", { json: null }, null],
    ["empty", { empty: true }, true],
    ["refusals", { refusal: true }, true],
    ["guard", { guard: true }, true],
    ["guard", { guard: false }, false],
    ["feedback", {}, null],
    ["golden", {}, null],
  ])("says of %s with %j: %s", (name, more, bad) => {
    expect(judged(name, more)).toBe(bad);
  });

  it.each<GateName>(["first_token", "latency", "speed", "cost", "json", "empty", "refusals", "guard"])(
    "counts nothing good for %s of a request that failed",
    (name) => {
      expect(judged(name, { failed: true, json: false })).toBeNull();
    },
  );

  it("counts a failure that took too long as slow", () => {
    expect(judged("latency", { failed: true, total_ms: 60_000 })).toBe(true);
  });

  it("needs an SLO where a gate has one", () => {
    for (const name of ["first_token", "latency", "speed", "cost"] as const) expect(judged(name, {}, null)).toBeNull();
  });

  it("counts a request that is still running as slow, once, and the rest for all else", () => {
    const names = ["errors", "first_token", "latency", "speed", "json"] as const;
    const bits = (part: Outcome["part"]) => names.map((name) => judged(name, { part, total_ms: 20_000, json: true }));
    expect(bits("late")).toEqual([null, null, true, null, null]);
    expect(bits("rest")).toEqual([false, false, null, true, true]);
  });
});
