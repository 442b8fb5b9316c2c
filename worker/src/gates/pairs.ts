import type { Verdict } from "../rollout/types.ts";
import { logMean } from "./block.ts";

/** What scores of the same prompts on both versions are judged by. */
export interface PairSettings {
  /** How much lower candidate's mean score may be than stable's, in `[0, 1)`. */
  readonly margin: number;
  /** The chance of a false fail. */
  readonly alpha: number;
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
  /** Once true it stays so. */
  readonly failed: boolean;
}

export interface PairJudgement {
  readonly verdict: Verdict;
  readonly failing: number;
  readonly passing: number;
}

export function newPairs(): PairState {
  return { pairs: 0, fail: Array(10).fill(0), pass: Array(10).fill(0), failed: false };
}

/** The test after one prompt. `lost` is stable's score less candidate's, in `[-1, 1]`. The prompts' order is all the same. */
export function observePair(state: PairState, lost: number, { margin, alpha }: PairSettings): PairState {
  const over = lost - margin;
  const bet = (side: 1 | -1) => (wealth: number, at: number) =>
    wealth + Math.log1p(((side * 0.95) / (1 + margin)) * 2 ** (-at / 2) * over);
  const fail = state.fail.map(bet(1));
  const failed = state.failed || shareOf(fail, alpha) === 1;
  return { pairs: state.pairs + 1, fail, pass: state.pass.map(bet(-1)), failed };
}

export function judgePairs(state: PairState, { alpha, beta }: PairSettings): PairJudgement {
  const failing = state.failed ? 1 : shareOf(state.fail, alpha);
  const passing = shareOf(state.pass, beta);
  return { verdict: state.failed ? "fail" : passing === 1 ? "pass" : "inconclusive", failing, passing };
}

/** The log of the mean wealth as a share of what shows that a chance of `chance` is not it, within 0 and 1. */
function shareOf(logs: readonly number[], chance: number): number {
  return Math.max(0, Math.min(1, logMean(logs) / Math.log(1 / chance)));
}
