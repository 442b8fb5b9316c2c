import type { Verdict } from "../rollout/types.ts";

/** What scores of the same prompts on both versions are judged by. */
export interface PairSettings {
  /** How much lower candidate's mean score may be than stable's, in `[0, 1)`. */
  readonly margin: number;
  /** The chance of a false fail, of all `gates` together. */
  readonly alpha: number;
  readonly gates: number;
  /** The chance of a false pass. */
  readonly beta: number;
}

/** Plain finite numbers, less than 1 kB as JSON. */
export interface PairState {
  readonly pairs: number;
  /** Log-wealth of bets of ten sizes against "candidate's mean is at most `margin` lower". */
  readonly fail: readonly number[];
  /** The same against "at least `margin` lower". */
  readonly pass: readonly number[];
}

export interface PairJudgement {
  readonly verdict: Verdict;
  readonly failing: number;
  readonly passing: number;
}

export function newPairs(): PairState {
  return { pairs: 0, fail: Array(10).fill(0), pass: Array(10).fill(0) };
}

/** The test after one prompt. `lost` is (stable's score - candidate's), in `[-1, 1]`. The order of prompts is all the same. */
export function observePair(state: PairState, lost: number, { margin }: PairSettings): PairState {
  const over = lost - margin;
  const bet = (side: 1 | -1) => (wealth: number, at: number) =>
    wealth + Math.log1p(((side * 0.95) / (1 + margin)) * 2 ** (-at / 2) * over);
  return { pairs: state.pairs + 1, fail: state.fail.map(bet(1)), pass: state.pass.map(bet(-1)) };
}

/** The verdict now. The caller ends the test at a fail. */
export function judgePairs(state: PairState, { alpha, gates, beta }: PairSettings): PairJudgement {
  const failing = shareOf(state.fail, gates / alpha);
  const passing = shareOf(state.pass, 1 / beta);
  const verdict = failing === 1 ? "fail" : passing === 1 ? "pass" : "inconclusive";
  return { verdict, failing, passing };
}

/** ln of the mean wealth, as a share of the log of what it takes, within 0 and 1. */
function shareOf(logs: readonly number[], enough: number): number {
  const most = Math.max(...logs);
  const mean = most + Math.log(logs.reduce((sum, log) => sum + Math.exp(log - most), 0) / logs.length);
  return Math.max(0, Math.min(1, mean / Math.log(enough)));
}
