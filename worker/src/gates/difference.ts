import { logEvidence, type Sums } from "./block.ts";

/** Where the interval can begin and end: the bounds that are put to the test, beside -1 and 1. */
const EDGES = [
  -0.7, -0.5, -0.3, -0.2, -0.12, -0.08, -0.05, -0.03, -0.02, -0.01, -0.005, 0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08,
  0.12, 0.2, 0.3, 0.5, 0.7,
] as const;

/** Log-wealth is kept in whole hundred-thousandths, rounded down: short as JSON, and still valid. */
const UNIT = 100_000;
/** ln(1 / 0.05): each end of the interval is wrong with a chance of at most 5 %, as a pass is. */
const ENOUGH = 299_574;
/** What has lost this much bets no more. */
const LOST = -9_900_000;

/**
 * Bets against "the difference is at most this edge" (`above`, for the last edges) and "at least" (`below`, for the
 * first ones). What has been refuted is gone from the lists, so they shorten as the interval does.
 */
export interface Bounds {
  readonly above: readonly number[];
  readonly below: readonly number[];
}

export function newBounds(): Bounds {
  return { above: EDGES.map(() => 0), below: EDGES.map(() => 0) };
}

/** The bets after one block, with the rates that were assumed before it. */
export function narrow({ above, below }: Bounds, ts: number, tc: number, block: Sums): Bounds {
  const first = EDGES.length - above.length;
  const bet = (wealth: number, edge: number, side: 1 | -1) =>
    (tc - ts - edge) * side > 0 && wealth > LOST
      ? wealth + Math.floor(logEvidence(ts, tc, block, edge) * UNIT)
      : wealth;
  const overs = above.map((wealth, at) => bet(wealth, EDGES[first + at] ?? 1, 1));
  const unders = below.map((wealth, at) => bet(wealth, EDGES[at] ?? -1, -1));
  // In order, from outside to inside: only so is each end one test, however many edges there are.
  const open = overs.findIndex((wealth) => wealth < ENOUGH);
  const shut = unders.findLastIndex((wealth) => wealth < ENOUGH);
  const next = { above: open < 0 ? [] : overs.slice(open), below: unders.slice(0, shut + 1) };
  return isOpen(next) ? next : newBounds();
}

/** The bets once it is known from elsewhere that the difference is larger than `margin`. */
export function refute({ above, below }: Bounds, margin: number): Bounds {
  const beyond = EDGES.filter((edge) => edge > margin).length;
  const next = { above: beyond < above.length ? above.slice(above.length - beyond) : above, below };
  return isOpen(next) ? next : { ...next, below: newBounds().below };
}

/** Where the difference is: each end is right with a chance of 95 % at whatever moment one looks. */
export function boundsOf({ above, below }: Bounds): [low: number, high: number] {
  return [EDGES[EDGES.length - above.length - 1] ?? -1, EDGES[below.length] ?? 1];
}

/** Whether anything is left between the ends. Nothing is when the difference has changed: it is then measured anew. */
function isOpen({ above, below }: Bounds): boolean {
  return above.length + below.length >= EDGES.length;
}
