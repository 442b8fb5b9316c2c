import { describe, expect, it } from "vitest";
import { countUntil, DEFAULTS, feed, seeded, sorted, type Traffic } from "../../test/support/traffic.ts";
import { narrow, newBounds } from "./difference.ts";
import { difference, type GateState, newGate, observe } from "./gate.ts";
import { judge } from "./verdict.ts";

const never = () => false;
const after = (requests: number, traffic: Traffic, seed = 1) =>
  difference(feed(newGate(), requests, traffic, seeded(seed), DEFAULTS, never)) ?? [Number.NaN, Number.NaN];

describe("the interval of the difference", () => {
  it("is unknown before both arms have a request, and wide after the first", () => {
    const one = observe(newGate(), { ms: 0, ys: 0, mc: 1, yc: 1 }, DEFAULTS);
    expect(difference(one)).toBeNull();
    const [low, high] = difference(observe(one, { ms: 1, ys: 0, mc: 0, yc: 0 }, DEFAULTS)) ?? [];
    expect(low).toBeLessThanOrEqual(-0.7);
    expect(high).toBe(1);
  });

  it.each([
    [0.01, 0.01, 0.1],
    [0.05, 0.05, 0.5],
    [0.01, 0.03, 0.1],
    [0.01, 0.3, 0.05],
    [0.3, 0.05, 0.5],
    [0.5, 0.5, 0.5],
  ])("has the truth in it at every look, with %d and %d bad at a share of %d", (stable, candidate, share) => {
    const truth = candidate - stable;
    const missed = sorted(100, (chance) => {
      let outside = false;
      const look = (state: GateState) => {
        const [low, high] = difference(state) ?? [-1, 1];
        outside ||= truth < low - 1e-9 || truth > high + 1e-9;
        return false;
      };
      feed(newGate(), 5_000, { share, stable, candidate }, chance, DEFAULTS, look);
      return outside ? 1 : 0;
    }).reduce((sum, value) => sum + value, 0);
    // At most 10 of 100 are expected; 20 would be a chance of 1 in 1,000 with 10.
    expect(missed).toBeLessThan(20);
  });

  it("lets a bet rest that has lost nearly all, so that its state stays short", () => {
    const { above, below } = newBounds();
    const lost = { above: above.map(() => -9_900_001), below };
    expect(narrow(lost, 0.01, 0.5, [10, 5, 10, 0]).above).toEqual(lost.above);
    expect(narrow({ above, below }, 0.01, 0.5, [10, 5, 10, 0]).above[0]).toBeLessThan(0);
  });

  it("narrows as requests come in", () => {
    const widths = [500, 5_000, 50_000].map((requests) => {
      const [low, high] = after(requests, { share: 0.5, stable: 0.02, candidate: 0.02 });
      return high - low;
    });
    expect(widths).toEqual(widths.toSorted((a, b) => b - a));
    expect(widths[2]).toBeLessThanOrEqual(0.02);
  });

  it("lies beyond the margin once the gate fails, also late", () => {
    const clean = feed(newGate(), 40_000, { share: 0.1, stable: 0.01, candidate: 0.01 }, seeded(4), DEFAULTS, never);
    for (const start of [newGate(), clean]) {
      let last = start;
      const chance = seeded(9);
      const until = (state: GateState) => {
        last = state;
        return state.failed;
      };
      countUntil(until, 3_000, { share: 0.1, stable: 0.01, candidate: 0.4 }, chance, DEFAULTS, start);
      expect(judge(last, DEFAULTS).verdict).toBe("fail");
      const [low, high] = difference(last) ?? [0, 0];
      expect(low).toBeGreaterThanOrEqual(DEFAULTS.margin);
      expect(high).toBeGreaterThan(0.3);
    }
  });

  it("is measured anew when the difference has changed", () => {
    const chance = seeded(5);
    const better = feed(newGate(), 20_000, { share: 0.5, stable: 0.3, candidate: 0.05 }, chance, DEFAULTS, never);
    expect(difference(better)?.[1]).toBeLessThanOrEqual(-0.2);
    const worse = feed(better, 20_000, { share: 0.5, stable: 0.05, candidate: 0.3 }, chance, DEFAULTS, never);
    expect(difference(worse)?.[0]).toBeGreaterThanOrEqual(0.12);
    expect(difference(worse)?.[1]).toBeGreaterThanOrEqual(0.25);
  });
});
