import { describe, expect, it } from "vitest";
import { DEFAULTS, feed, seeded } from "../../test/support/traffic.ts";
import { type Counts, evidence, type GateState, newGate, observe } from "./gate.ts";
import { combined, judge } from "./verdict.ts";

const FIVE = { ...DEFAULTS, gates: 5 };
const GOOD = { ms: 9, ys: 0, mc: 1, yc: 0 };
const BAD = { ...GOOD, yc: 1 };

const fed = (count: number, counts: Counts, state: GateState = newGate()) =>
  Array<Counts>(count)
    .fill(counts)
    .reduce((now, each) => observe(now, each, FIVE), state);

const healthy = fed(300, GOOD);

describe("a rollout of several gates", () => {
  it("fails by the one gate that fails, and names it", () => {
    const broken = fed(12, BAD);
    expect(combined([healthy, healthy, broken, healthy, newGate()], FIVE)).toEqual({
      ...{ verdict: "fail", reason: null, blame: 2, failing: 1 },
    });
  });

  it("names the gate that failed, also when another has more evidence by now", () => {
    const failed = { ...fed(12, BAD), fail: [0, 0, 0] };
    const doubtful = fed(8, BAD, healthy);
    expect(combined([doubtful, failed], { ...FIVE, alpha: 1e-9 })).toMatchObject({ verdict: "fail", blame: 1 });
  });

  it("fails by what several gates say together before one of them would", () => {
    let state = newGate();
    while (evidence(state) < Math.log(100)) state = fed(1, { ms: 9, ys: 0, mc: 2, yc: 1 }, state);
    expect(judge(state, FIVE).verdict).toBe("inconclusive");
    expect(combined([state, state, state, state, state], FIVE)).toMatchObject({ verdict: "fail", blame: 0 });
    expect(combined([state, healthy, healthy, healthy, healthy], FIVE)).toMatchObject({ verdict: "inconclusive" });
  });

  it("lets a gate with too few requests weigh nothing", () => {
    const early = fed(9, BAD);
    expect(evidence(early)).toBeGreaterThan(Math.log(500));
    const found = combined([early, healthy, healthy, healthy, healthy], FIVE);
    expect(found).toMatchObject({ verdict: "inconclusive", reason: "inconclusive", blame: null });
    expect(found.failing).toBeLessThan(0.5);
  });

  it("passes only when each gate does", () => {
    expect(combined([healthy, healthy], FIVE)).toMatchObject({ verdict: "pass", reason: null, failing: 0 });
    expect(combined([healthy, fed(211, GOOD)], FIVE)).toMatchObject({ verdict: "inconclusive" });
    expect(combined([healthy, newGate()], FIVE)).toMatchObject({ verdict: "inconclusive", reason: "inconclusive" });
  });

  it("holds for the platform when one gate says so, whichever of them is the first to hold", () => {
    const platform = feed(newGate(), 1_000, { share: 0.5, stable: 0.9, candidate: 0.9 }, seeded(1), FIVE);
    expect(judge(platform, FIVE).reason).toBe("platform");
    for (const states of [
      [newGate(), platform, healthy],
      [platform, newGate(), healthy],
    ]) {
      expect(combined(states, FIVE)).toMatchObject({ verdict: "inconclusive", reason: "platform", blame: null });
    }
  });

  it("never needs more evidence than its gates do by themselves", () => {
    const traffic = { share: 0.1, stable: 0.01, candidate: 0.2 };
    for (let seed = 1; seed <= 20; seed++) {
      let said = false;
      const chance = seeded(seed);
      let state = newGate();
      while (!state.failed) {
        state = feed(state, 50, traffic, chance, FIVE);
        said ||= combined([state, healthy, healthy, healthy, healthy], FIVE).verdict === "fail";
      }
      expect(said).toBe(true);
    }
  });
});

it("tells how much of a verdict there is, from nothing to all", () => {
  expect(judge(newGate(), DEFAULTS)).toMatchObject({ failing: 0, passing: 0 });
  const part = judge(fed(100, GOOD), DEFAULTS);
  expect(part.passing).toBeGreaterThan(0.3);
  expect(part.passing).toBeLessThan(0.6);
  // Plenty of evidence, and 9 of the 10 requests that a person wants to see.
  expect(judge(fed(9, BAD), DEFAULTS).failing).toBe(0.9);
});
