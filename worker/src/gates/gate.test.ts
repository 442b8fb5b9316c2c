import { describe, expect, it } from "vitest";
import { block, DEFAULTS, feed, seeded, single } from "../../test/support/traffic.ts";
import { logEvidence, project, ratesOf } from "./block.ts";
import { type Counts, countsOf, difference, type GateState, newGate, observe, restep } from "./gate.ts";
import { judge } from "./verdict.ts";

/** The gate after these batches. */
const fed = (batches: readonly Counts[], settings = DEFAULTS) =>
  batches.reduce((state, counts) => observe(state, counts, settings), newGate());
const times = (count: number, counts: Counts) => Array<Counts>(count).fill(counts);
const verdictOf = (state: GateState) => judge(state, DEFAULTS).verdict;
const reasonOf = (state: GateState) => judge(state, DEFAULTS).reason;

it("t1 computes the golden numbers of projection and evidence", () => {
  expect(project(0.01, 0.2, 19, 1, 0.02)).toBeCloseTo(0.013621107, 9);
  expect(logEvidence(0.01, 0.2, [19, 0, 1, 1], 0.02)).toBeCloseTo(1.852786713, 6);
  expect(logEvidence(0.01, 0.2, [19, 1, 1, 0], 0.02)).toBeCloseTo(-0.432020731, 6);
  expect(logEvidence(0.01, 0.01, [19, 0, 1, 0], 0.02)).toBeCloseTo(0.0134576, 6);
  expect(logEvidence(0.3, 0.6, [10, 3, 10, 7], 0.05)).toBeCloseTo(1.156699531, 6);
  expect(ratesOf([0, 0, 0, 0])).toEqual([0.04, 0.04]);
});

it.each([
  [0.01, 441],
  [0.02, 212],
  [0.03, 136],
  [0.05, 77],
])("t2 passes at a margin of %d after exactly %i faultless blocks", (margin, blocks) => {
  const settings = { ...DEFAULTS, margin };
  const before = fed(times(blocks - 1, { ms: 9, ys: 0, mc: 1, yc: 0 }), settings);
  expect(judge(before, settings)).toMatchObject({ verdict: "inconclusive", reason: "inconclusive" });
  expect(judge(before, settings).passing).toBeLessThan(1);
  const state = observe(before, { ms: 9, ys: 0, mc: 1, yc: 0 }, settings);
  expect(judge(state, settings)).toMatchObject({ verdict: "pass", reason: null, passing: 1 });
});

describe("t12", () => {
  it("is the same, to the bit, when it is kept as JSON after each update", () => {
    const traffic = { share: 0.1, stable: 0.05, candidate: 0.2 };
    const [chance, same] = [seeded(1), seeded(1)];
    let [kept, held] = [newGate(), newGate()];
    for (let update = 0; update < 500; update++) {
      held = observe(held, single(traffic, chance), DEFAULTS);
      kept = JSON.parse(JSON.stringify(observe(kept, single(traffic, same), DEFAULTS)));
      if (update === 250) [held, kept] = [restep(held), restep(kept)];
    }
    expect(kept).toEqual(held);
    expect(JSON.stringify(kept)).toBe(JSON.stringify(held));
  });

  it("takes a block in parts as it takes it whole", () => {
    const parts = [
      { ms: 3, ys: 1, mc: 0, yc: 0 },
      { ms: 0, ys: 0, mc: 0, yc: 0 },
      { ms: 6, ys: 0, mc: 0, yc: 0 },
      { ms: 1, ys: 1, mc: 4, yc: 2 },
    ];
    const { alarms: _, ...apart } = fed(Array(20).fill(parts).flat());
    const { alarms: __, ...whole } = fed(times(20, { ms: 10, ys: 2, mc: 4, yc: 2 }));
    expect(apart).toEqual(whole);
  });

  it("decides what a block is tested against before its first outcome", () => {
    // Stable goes bad within the block: that the platform is bad is known, and counts, from the next block on.
    const begun = fed([...times(3, { ms: 5, ys: 0, mc: 5, yc: 5 }), { ms: 60, ys: 60, mc: 0, yc: 0 }]);
    expect(begun.alarms.every((level) => level >= Math.log(100))).toBe(true);
    const closed = { ms: 0, ys: 0, mc: 5, yc: 5 };
    expect(observe(begun, closed, DEFAULTS).fail).toEqual(observe({ ...begun, alarms: [0, 0] }, closed, DEFAULTS).fail);
  });
});

describe("t13", () => {
  const huge = 1e7;
  const sizes = [huge, 1e3, 1, 0];
  const counts = sizes.flatMap((ms) =>
    sizes.flatMap((mc) => [0, 1].flatMap((bad) => ({ ms, ys: bad * ms, mc, yc: 0 }))),
  );

  it("stays finite and below 1 kB through blocks of any size and outcome", () => {
    for (const first of counts) {
      for (const each of [first, { ...first, yc: first.mc }, { ...first, ys: 0, yc: first.mc }]) {
        for (const margin of [0, 0.02, 0.999]) {
          expectSound(fed([...times(3, each), { ms: 1, ys: 0, mc: 1, yc: 1 }], { ...DEFAULTS, margin }));
        }
      }
    }
  });

  it.each([
    [0.05, 0.01, 0.01],
    [0.5, 0.2, 0.22],
    [0.1, 0.5, 0.5],
    [0.3, 0, 0],
    [0.3, 1, 1],
    [0.5, 0, 1],
    [0.5, 1, 0],
  ])("stays so through 20,000 updates at a share of %d with %d and %d bad", (share, stable, candidate) => {
    const chance = seeded(7);
    let state = newGate();
    let longest = 0;
    for (let update = 0; update < 20_000; update++) {
      state = observe(state, single({ share, stable, candidate }, chance), DEFAULTS);
      if (update < 100 || update % 500 === 0) longest = Math.max(longest, JSON.stringify(state).length);
    }
    expectSound(state);
    expect(longest).toBeLessThan(1_000);
  });

  it("stays so through a million requests that come one by one", () => {
    const chance = seeded(8);
    const candidate = { ms: 0, ys: 0, mc: 1, yc: 0 };
    let state = newGate();
    for (let update = 0; update < 1_000_000; update++) {
      const bad = chance() < 0.01 ? 1 : 0;
      state = observe(state, update % 20 ? { ms: 1, ys: bad, mc: 0, yc: 0 } : { ...candidate, yc: bad }, DEFAULTS);
    }
    expectSound(state);
    expect(countsOf(state)).toMatchObject({ ms: 950_000, mc: 50_000 });
  });

  it("lets no batch without requests change anything", () => {
    const state = feed(newGate(), 1_000, { share: 0.1, stable: 0.05, candidate: 0.1 }, seeded(3), DEFAULTS);
    expect(observe(state, { ms: 0, ys: 0, mc: 0, yc: 0 }, DEFAULTS)).toEqual(state);
  });

  function expectSound(state: GateState): void {
    const text = JSON.stringify(state);
    expect(text.length).toBeLessThan(1_000);
    // JSON has no NaN and no infinity: they would come back as null.
    expect(text).not.toContain("null");
    const { failing, passing } = judge(state, DEFAULTS);
    for (const share of [failing, passing]) expect(share >= 0 && share <= 1).toBe(true);
  }
});

it("t14 holds, and never fails, while candidate alone has traffic", () => {
  let state = newGate();
  for (let request = 1; request <= 30; request++) {
    state = observe(state, { ms: 0, ys: 0, mc: 1, yc: 1 }, DEFAULTS);
    expect(verdictOf(state)).toBe("inconclusive");
  }
  expect(reasonOf(state)).toBe("suspect");
  const clean = fed(times(10, { ms: 0, ys: 0, mc: 1, yc: 0 }));
  expect(reasonOf(clean)).toBe("no-control");
  expect(countsOf(clean)).toEqual({ ms: 0, ys: 0, mc: 10, yc: 0 });
});

const GOOD = { ms: 9, ys: 0, mc: 1, yc: 0 };
const BAD = { ...GOOD, yc: 1 };

it.each([
  { seen: "nothing at all", batches: [], verdict: "inconclusive" },
  { seen: "1 bad of 2", batches: [{ ms: 18, ys: 0, mc: 2, yc: 1 }], verdict: "inconclusive" },
  { seen: "2 bad of 2", batches: [{ ms: 18, ys: 0, mc: 2, yc: 2 }], verdict: "inconclusive" },
  { seen: "9 bad of 9", batches: times(9, BAD), verdict: "inconclusive" },
  { seen: "10 bad of 10", batches: times(10, BAD), verdict: "fail" },
  { seen: "1 bad of 100", batches: times(100, GOOD).with(30, BAD), verdict: "inconclusive" },
  { seen: "20 bad of 100", batches: times(20, { ms: 45, ys: 0, mc: 5, yc: 1 }), verdict: "fail" },
  { seen: "1 bad of 500", batches: times(500, GOOD).with(30, BAD), verdict: "pass" },
])("ro_01 says $verdict to $seen", ({ batches, verdict }) => {
  expect(verdictOf(fed(batches))).toBe(verdict);
});

it("stays failed, whatever comes later", () => {
  const failed = fed(times(12, BAD));
  const later = feed(failed, 50_000, { share: 0.5, stable: 0.01, candidate: 0 }, seeded(1), DEFAULTS, () => false);
  expect(judge(restep(later), DEFAULTS)).toMatchObject({ verdict: "fail", reason: null, failing: 1 });
});

it("takes nothing of the step before into the next one's blocks: what waited for the other arm is counted, and no bet", () => {
  const waiting = observe(fed(times(100, GOOD)), { ms: 0, ys: 0, mc: 6, yc: 2 }, DEFAULTS);
  const next = restep(waiting);
  expect(next.pending).toEqual([0, 0, 0, 0]);
  expect(countsOf(next)).toEqual(countsOf(waiting));
  const { fail, step } = observe(next, { ms: 9, ys: 0, mc: 1, yc: 0 }, DEFAULTS);
  expect(step).toEqual([9, 0, 1, 0]);
  expect(fail).toEqual(waiting.fail);
});

it("lets each step earn its own pass, and keeps what speaks for a fail", () => {
  const doubtful = fed([...times(300, GOOD), ...times(5, BAD)]);
  const passed = fed(times(300, GOOD));
  expect(verdictOf(passed)).toBe("pass");
  const next = restep(passed);
  expect(judge(next, DEFAULTS)).toMatchObject({ verdict: "inconclusive", reason: "inconclusive", passing: 0 });
  const { step, pass, ...kept } = restep(doubtful);
  expect(doubtful).toMatchObject(kept);
  expect([step, pass]).toEqual([[0, 0, 0, 0], 0]);
});

it("doesn't pass while there is a doubt of what happens now", () => {
  const state = fed([...times(3_000, GOOD), ...times(5, BAD)]);
  expect(Math.max(...state.fail)).toBeGreaterThan(Math.log(3));
  expect(judge(state, DEFAULTS)).toMatchObject({ verdict: "inconclusive", reason: "inconclusive", passing: 1 });
});

it("says which arm is bad by itself, and takes it back when that has passed", () => {
  const stableBad = fed(times(3, { ms: 9, ys: 9, mc: 1, yc: 0 }));
  expect(reasonOf(stableBad)).toBe("stable-degraded");
  expect(reasonOf(fed(times(3, { ms: 9, ys: 9, mc: 9, yc: 9 })))).toBe("platform");
  const ended = times(20, { ms: 45, ys: 0, mc: 5, yc: 0 }).reduce((s, c) => observe(s, c, DEFAULTS), stableBad);
  expect(reasonOf(ended)).toBe("inconclusive");
});

it("fails only once there are as many bad requests as a person wants to see", () => {
  const settings = { ...DEFAULTS, alpha: 0.2, minBad: 5 };
  const few = [...times(20, GOOD), ...times(4, BAD)];
  expect(judge(fed(few, { ...settings, minBad: 4 }), settings).verdict).toBe("fail");
  expect(judge(fed(few, settings), settings)).toMatchObject({ verdict: "inconclusive", failing: 0.8 });
  expect(judge(fed([...few, BAD], settings), settings).verdict).toBe("fail");
});

it.each([0.95, 0.97, 1])("has no alarm at an absolute limit of %d, which nothing exceeds for long", (absolute) => {
  const settings = { ...DEFAULTS, absolute };
  for (const counts of [GOOD, { ms: 9, ys: 9, mc: 9, yc: 9 }]) {
    expect(judge(fed(times(20, counts), settings), settings).reason).toBe("inconclusive");
  }
});

it("collects no evidence for a pass while both arms are bad", () => {
  const both = { share: 0.5, stable: 0.6, candidate: 0.6 };
  const bad = feed(newGate(), 1_000, both, seeded(2), DEFAULTS);
  expect(reasonOf(bad)).toBe("platform");
  expect(observe(bad, block(50, both, seeded(3)), DEFAULTS).pass).toBe(bad.pass);
  expect(difference(newGate())).toBeNull();
});
