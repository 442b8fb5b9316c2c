import { expect, it } from "vitest";
import contract from "../../../tests/contract/golden.json";
import { type Chance, quantile, sorted } from "../../test/support/traffic.ts";
import { judgePairs, newPairs, observePair, type PairState } from "./pairs.ts";

const SETTINGS = { margin: 0.05, alpha: 0.01, beta: 0.05 };

it.each(contract)("has the numbers that Python has: $name", ({ settings, differences, states }) => {
  let state = newPairs();
  for (let count = 0; count <= differences.length; count++) {
    if (count > 0) state = observePair(state, differences[count - 1] ?? 0, settings);
    const expected = states.find(({ after }) => after === count);
    if (expected === undefined) continue;
    const judged = judgePairs(state, settings);
    expect(judged.verdict).toBe(expected.verdict);
    for (const name of ["failing", "passing"] as const) expect(judged[name]).toBeCloseTo(expected[name], 9);
    for (const side of ["fail", "pass"] as const) {
      for (const [at, wealth] of state[side].entries()) expect(wealth).toBeCloseTo(expected[side][at] ?? Number.NaN, 9);
    }
  }
});

it.each([
  ["fail", 0.2, 0.25, 63, 0.2],
  ["pass", 0, 0.1, 122, 0.15],
])("t11 comes to a %s when candidate scores %d lower", (verdict, mean, spread, median, off) => {
  const runs = sorted(200, (chance) => {
    let state = newPairs();
    while (judgePairs(state, SETTINGS).verdict !== verdict && state.pairs < 2_000) {
      state = observePair(state, lost(mean, spread, chance), SETTINGS);
    }
    return state.pairs;
  });
  expect(quantile(runs, 0.5)).toBeGreaterThanOrEqual(median * (1 - off));
  expect(quantile(runs, 0.5)).toBeLessThanOrEqual(median * (1 + off));
});

it("keeps its state below 1 kB, and the order of prompts out of it", () => {
  const differences = [0.3, -1, 1, 0, 0.05, -0.2];
  const of = (all: readonly number[]) => all.reduce((state, each) => observePair(state, each, SETTINGS), newPairs());
  const [one, other] = [of(differences), of(differences.toReversed())];
  expect(JSON.stringify(one).length).toBeLessThan(1_000);
  const rounded = (state: PairState) => state.fail.map((wealth) => wealth.toFixed(9));
  expect(rounded(one)).toEqual(rounded(other));
});

/** A difference of scores, bell-shaped, within -1 and 1. */
function lost(mean: number, spread: number, chance: Chance): number {
  const bell = Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance());
  return Math.max(-1, Math.min(1, mean + spread * bell));
}
