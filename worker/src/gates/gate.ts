import { logEvidence, logMean, NONE, plus, ratesOf, type Sums } from "./block.ts";
import { type Bounds, boundsOf, narrow, newBounds, refute } from "./difference.ts";

/** What one gate is judged by. The shares are in `[0, 1)`, the counts are of candidate's requests. */
export interface GateSettings {
  /** How much more of candidate's requests than of stable's may be bad. */
  readonly margin: number;
  /** The chance of a false fail, of all `gates` together, over the whole rollout. */
  readonly alpha: number;
  readonly gates: number;
  /** The chance of a false pass, in each step. */
  readonly beta: number;
  readonly minFail: number;
  readonly minBad: number;
  readonly minPass: number;
  /** The rate of bad requests over which an arm is called bad by itself. From 0.95 on: none. */
  readonly absolute: number;
  /** The margin while both arms are bad by themselves; 0.25 when left out. */
  readonly platformMargin?: number;
}

/** Requests and bad ones: `ms` and `ys` of stable, `mc` and `yc` of candidate. */
export interface Counts {
  readonly ms: number;
  readonly ys: number;
  readonly mc: number;
  readonly yc: number;
}

/** One gate of one rollout: plain finite numbers, less than 1 kB as JSON. */
export interface GateState {
  /** Sums of past blocks, with the half-lives of `HALF_LIVES`. */
  readonly memories: readonly Sums[];
  /** Log-wealth of the bets against "candidate is at most `margin` worse", one for each memory. */
  readonly fail: readonly number[];
  /** Sums of this step's blocks. */
  readonly step: Sums;
  /** Log-wealth of this step's bets against "candidate is at least `margin` worse". */
  readonly pass: number;
  /** What waits for the other arm, to be one block. */
  readonly pending: Sums;
  /** Whether both arms were bad by themselves when `pending` began. */
  readonly platform: boolean;
  /** Sums of all blocks. */
  readonly total: Sums;
  /** How bad each arm is by itself lately: stable, candidate. */
  readonly alarms: readonly [stable: number, candidate: number];
  readonly bounds: Bounds;
  /** Once true it stays so. */
  readonly failed: boolean;
}

/** In candidate's requests. The short one sees a candidate that breaks late, the long one a small difference. */
const HALF_LIVES = [Number.POSITIVE_INFINITY, 400, 50] as const;

export function newGate(): GateState {
  return {
    memories: HALF_LIVES.map(() => NONE),
    fail: HALF_LIVES.map(() => 0),
    step: NONE,
    pass: 0,
    pending: NONE,
    platform: false,
    total: NONE,
    alarms: [0, 0],
    bounds: newBounds(),
    failed: false,
  };
}

/**
 * The gate after one batch: at most 50 requests, of at most 5 seconds, cut off by count or time and never by outcome.
 * A batch must be counted once. Bad ones are at most as many as requests.
 */
export function observe(state: GateState, { ms, ys, mc, yc }: Counts, settings: GateSettings): GateState {
  const [stable, candidate] = state.alarms;
  const seen: GateState = {
    ...state,
    pending: plus(state.pending, [ms, ys, mc, yc]),
    // What a block is tested against must be decided before its first outcome.
    platform: state.pending[0] + state.pending[2] > 0 ? state.platform : isPlatform(state),
    alarms: [alarm(stable, ms, ys, settings.absolute), alarm(candidate, mc, yc, settings.absolute)],
  };
  const next = seen.pending[0] > 0 && seen.pending[2] > 0 ? settle(seen, settings) : seen;
  if (next.failed || !mustFail(next, settings)) return next;
  return { ...next, failed: true, bounds: refute(next.bounds, settings.margin) };
}

/**
 * The gate as the traffic's weights change: each step earns its own pass, and what speaks for a fail stays. What waits for
 * the other arm is counted, but no block is of two steps: within one both arms must see the same world.
 */
export function restep(state: GateState): GateState {
  return { ...state, step: NONE, pass: 0, total: plus(state.total, state.pending), pending: NONE };
}

/** Requests and bad ones since the gate is new, those that wait for the other arm among them. */
export function countsOf(state: GateState): Counts {
  const [ms, ys, mc, yc] = plus(state.total, state.pending);
  return { ms, ys, mc, yc };
}

/**
 * An interval for (candidate's rate - stable's), null before both arms have a request. Each end is right with a chance of
 * 95 % at any time; it takes in all that was seen since the difference last changed for certain.
 */
export function difference(state: GateState): [low: number, high: number] | null {
  return state.total[0] > 0 && state.total[2] > 0 ? boundsOf(state.bounds) : null;
}

/** Takes what is pending as one block. */
function settle(state: GateState, settings: GateSettings): GateState {
  const { margin, platformMargin = 0.25 } = settings;
  const { pending: block, platform, memories, fail, step, pass } = state;
  const allowed = platform ? Math.max(margin, platformMargin) : margin;
  const share = (halfLife: number) => 2 ** (-block[2] / halfLife);
  const [, middle = NONE] = memories;
  return {
    ...state,
    memories: memories.map((memory, at) => plus(memory, block, share(HALF_LIVES[at] ?? 1))),
    fail: fail.map((wealth, at) => wealth + against(memories[at] ?? NONE, block, allowed, 1)),
    step: plus(step, block),
    pass: platform ? pass : pass + against(step, block, margin, -1),
    pending: NONE,
    total: plus(state.total, block),
    bounds: narrow(state.bounds, ...ratesOf(middle), block),
  };
}

/** The log e-value of a block against "at most `margin` worse" (side 1) or "at least" (side -1); 0 without a bet. */
function against(memory: Sums, block: Sums, margin: number, side: 1 | -1): number {
  const [ts, tc] = ratesOf(memory);
  return (tc - (ts + margin)) * side > 0 ? logEvidence(ts, tc, block, margin) : 0;
}

/** ln 100: what an arm's alarm must reach. */
const ALARM = 4.605170185988092;

/** One arm's alarm after some requests: it rises with a rate above `absolute`, and falls back when that has passed. */
function alarm(level: number, requests: number, bad: number, absolute: number): number {
  const worse = Math.min(0.95, 1.5 * absolute);
  if (absolute >= worse) return 0;
  const change = bad * Math.log(worse / absolute) + (requests - bad) * Math.log((1 - worse) / (1 - absolute));
  return Math.min(2 * ALARM, Math.max(0, level + change));
}

/** Which arms are bad by themselves. */
export function alarmed({ alarms }: GateState): [stable: boolean, candidate: boolean] {
  return [alarms[0] >= ALARM, alarms[1] >= ALARM];
}

/** Both arms are bad by themselves: not the candidate's doing. */
export function isPlatform(state: GateState): boolean {
  return alarmed(state).every(Boolean);
}

/** The log of the mean of the bets' wealth: what speaks for "candidate is more than the margin worse". */
export function evidence({ fail }: GateState): number {
  return logMean(fail);
}

/** Whether people would believe a fail: enough requests, enough bad ones. */
export function isSeen({ total }: GateState, { minFail, minBad }: Pick<GateSettings, "minFail" | "minBad">): boolean {
  return total[2] >= minFail && total[3] >= minBad;
}

function mustFail(state: GateState, settings: GateSettings): boolean {
  return isSeen(state, settings) && evidence(state) >= Math.log(settings.gates / settings.alpha);
}
