import type { HoldReason, Verdict } from "../rollout/types.ts";
import { alarmed, evidence, type GateSettings, type GateState, isPlatform, isSeen } from "./gate.ts";

export interface Judgement {
  readonly verdict: Verdict;
  /** Why it is inconclusive; null for `pass` and `fail`. */
  readonly reason: HoldReason | null;
  /** What there is of all that a fail takes, from 0 to 1. */
  readonly failing: number;
  /** What there is of the requests and the evidence that a pass takes, from 0 to 1. A doubt or an alarm still holds it. */
  readonly passing: number;
}

/** The verdict on one gate now. Only a fail is for good. */
export function judge(state: GateState, settings: GateSettings): Judgement {
  const { alpha, gates, beta, minFail, minBad, minPass } = settings;
  const { total, step, pass, failed } = state;
  const shares = [evidence(state) / Math.log(gates / alpha), total[2] / minFail, total[3] / minBad];
  const failing = failed ? 1 : shareOf(...shares);
  const passing = shareOf(pass / Math.log(1 / beta), step[2] / minPass);
  if (failed) return { verdict: "fail", reason: null, failing, passing };
  const reason = holds(state, settings, passing);
  return { verdict: reason === null ? "pass" : "inconclusive", reason, failing, passing };
}

/** A pass says "not bad all through this step"; a doubt says "but perhaps now". */
export function isDoubted({ fail }: GateState): boolean {
  return Math.max(...fail) > Math.log(3);
}

function holds(state: GateState, { minFail }: GateSettings, passing: number): HoldReason | null {
  const [stable, candidate] = alarmed(state);
  if (stable) return candidate ? "platform" : "stable-degraded";
  if (candidate) return "suspect";
  if (state.pending[2] >= minFail && state.pending[0] === 0) return "no-control";
  return passing === 1 && !isDoubted(state) ? null : "inconclusive";
}

/** The least of some shares, within 0 and 1. Of nothing it takes nothing: 0 of 0 is all. */
function shareOf(...shares: readonly number[]): number {
  return shares.reduce((least, share) => Math.max(0, Math.min(least, Number.isNaN(share) ? 1 : share)), 1);
}

/** The verdict on a rollout. */
export interface Combined {
  readonly verdict: Verdict;
  readonly reason: HoldReason | null;
  /** Of a fail: which gate has the most evidence, as its place in the list. */
  readonly blame: number | null;
  /** What there is of the evidence that a fail takes, from 0 to 1. */
  readonly failing: number;
}

/**
 * The verdict on all gates of a rollout: those that enforce, in any order. It fails when one gate does, or when the mean
 * of their evidence is enough; passes when each does; and holds for `platform` when one says so.
 */
export function combined(states: readonly GateState[], settings: GateSettings): Combined {
  const { gates, alpha } = settings;
  // A gate with too few requests to fail counts as if it had no evidence.
  const logs = states.map((state) => (isSeen(state, settings) ? evidence(state) : Number.NEGATIVE_INFINITY));
  const most = Math.max(...logs);
  const sum = logs.reduce((total, log) => total + (log === most ? 1 : Math.exp(log - most)), 0);
  const mean = most + Math.log(sum / Math.max(gates, states.length));
  const enough = Math.log(1 / alpha);
  const latched = states.findIndex((state) => state.failed);
  if (latched >= 0 || mean >= enough) {
    return { verdict: "fail", reason: null, blame: latched >= 0 ? latched : logs.indexOf(most), failing: 1 };
  }
  const failing = shareOf(mean / enough);
  if (states.some(isPlatform)) return { verdict: "inconclusive", reason: "platform", blame: null, failing };
  const held = states.map((state) => judge(state, settings)).find(({ verdict }) => verdict !== "pass");
  return { verdict: held ? "inconclusive" : "pass", reason: held?.reason ?? null, blame: null, failing };
}
