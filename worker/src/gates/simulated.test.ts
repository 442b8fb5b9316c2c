import { expect, it } from "vitest";
import { block, countUntil, DEFAULTS, feed, quantile, sorted } from "../../test/support/traffic.ts";
import { type GateState, isPlatform, newGate, observe, restep } from "./gate.ts";
import { judge } from "./verdict.ts";

const failed = (state: GateState) => state.failed;
const passed = (state: GateState) => judge(state, DEFAULTS).verdict === "pass";
const count = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

/** Median and 95 % of what runs come to. */
const spread = (values: readonly number[]) => [quantile(values, 0.5), quantile(values, 0.95)] as const;

it.each([
  [0.01, 0.05],
  [0.01, 0.5],
  [0.05, 0.05],
  [0.05, 0.5],
])("t3 rolls back at most 1 of 100 candidates that are as bad as stable, %d, at a share of %d", (rate, share) => {
  const traffic = { share, stable: rate, candidate: rate };
  const runs = sorted(100, (chance) => (feed(newGate(), 20_000, traffic, chance, DEFAULTS).failed ? 1 : 0));
  expect(count(runs)).toBeLessThanOrEqual(1);
});

it("t4 rolls back at most 9 of 300 candidates exactly at the margin, and t5 passes at most 28", () => {
  const traffic = { share: 0.1, stable: 0.01, candidate: 0.03 };
  let passes = 0;
  const rolledBack = sorted(300, (chance) => {
    let once = false;
    const until = (state: GateState) => {
      once ||= passed(state);
      return state.failed;
    };
    const state = feed(newGate(), 20_000, traffic, chance, DEFAULTS, until);
    if (once) passes += 1;
    return state.failed ? 1 : 0;
  });
  expect(count(rolledBack)).toBeLessThanOrEqual(9);
  expect(passes).toBeLessThanOrEqual(28);
  expect(passes).toBeGreaterThan(0);
});

it.each([
  [0.05, 0.1, 115, 350],
  [0.05, 0.2, 34, 105],
  [0.05, 0.5, 11, 28],
  [0.05, 1, 10, 14],
  [0.5, 0.1, 235, 700],
  [0.5, 0.2, 74, 210],
  [0.5, 0.5, 24, 55],
  [0.5, 1, 12, 24],
])(
  "t6 at a share of %d sees a candidate of which %d is bad after about %i of its requests",
  (share, bad, median, most) => {
    const traffic = { share, stable: 0.01, candidate: bad };
    const [middle, high] = spread(sorted(300, (chance) => countUntil(failed, 3_000, traffic, chance, DEFAULTS)));
    expect(middle).toBeGreaterThanOrEqual(median * 0.75);
    expect(middle).toBeLessThanOrEqual(median * 1.25);
    expect(high).toBeLessThanOrEqual(most);
  },
);

it.each([
  [0.001, 207, 0.1, 450],
  [0.01, 370, 0.25, 1_500],
])(
  "t7 passes a candidate of which %d is bad, as of stable, after about %i of its requests",
  (rate, median, off, most) => {
    const traffic = { share: 0.1, stable: rate, candidate: rate };
    const [middle, high] = spread(sorted(200, (chance) => countUntil(passed, 10_000, traffic, chance, DEFAULTS)));
    expect(middle).toBeGreaterThanOrEqual(median * (1 - off));
    expect(middle).toBeLessThanOrEqual(median * (1 + off));
    expect(high).toBeLessThanOrEqual(most);
  },
);

it("t8 rolls back nothing in a ramp through a fault of both arms, and says that it is the platform's", () => {
  let seen = 0;
  const rolledBack = sorted(60, (chance) => {
    let [state, platform] = [newGate(), false];
    for (let sent = 0; sent < 30_000; sent += 50) {
      const share = [0.01, 0.1, 0.5][Math.floor(sent / 10_000)] ?? 0.5;
      if (sent === 10_000 || sent === 20_000) state = restep(state);
      const rate = sent >= 24_000 && sent < 27_000 ? 0.4 : 0.01;
      state = observe(state, block(50, { share, stable: rate, candidate: rate }, chance), DEFAULTS);
      platform ||= judge(state, DEFAULTS).reason === "platform";
    }
    if (platform) seen += 1;
    return state.failed ? 1 : 0;
  });
  expect(count(rolledBack)).toBe(0);
  expect(seen).toBeGreaterThanOrEqual(59);
});

it.each([
  [0.05, 33, 85],
  [0.5, 41, 95],
])(
  "t9 at a share of %d calls what is bad in both arms from the start the platform's, after about %i",
  (share, median, most) => {
    const traffic = { share, stable: 0.5, candidate: 0.5 };
    let fails = 0;
    const first = sorted(200, (chance) => {
      const when = countUntil((state) => state.failed || isPlatform(state), 3_000, traffic, chance, DEFAULTS);
      if (feed(newGate(), 5_000, traffic, chance, DEFAULTS).failed) fails += 1;
      return when;
    });
    const [middle, high] = spread(first);
    expect(fails).toBe(0);
    expect(middle).toBeGreaterThanOrEqual(median * 0.7);
    expect(middle).toBeLessThanOrEqual(median * 1.3);
    expect(high).toBeLessThanOrEqual(most);
  },
);

it.each([
  [0.2, 110, 220],
  [1, 20, 25],
])("t10 sees a candidate of which %d is bad after 10,000 good requests within %i more", (bad, median, most) => {
  const good = { share: 0.1, stable: 0.01, candidate: 0 };
  const [middle, high] = spread(
    sorted(40, (chance) => {
      const until = ({ total }: GateState) => total[2] >= 10_000;
      const clean = feed(newGate(), 200_000, good, chance, DEFAULTS, until);
      return countUntil(failed, 3_000, { ...good, candidate: bad }, chance, DEFAULTS, clean);
    }),
  );
  expect(middle).toBeLessThanOrEqual(median);
  expect(high).toBeLessThanOrEqual(most);
});
