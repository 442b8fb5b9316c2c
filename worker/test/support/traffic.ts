import { type Counts, type GateSettings, type GateState, newGate, observe } from "../../src/gates/gate.ts";
import { random } from "./random.ts";

/** A seeded source of numbers in `[0, 1)`. */
export type Chance = () => number;

/** The same numbers for the same seed. */
export function seeded(seed: number): Chance {
  return random(Math.imul(seed, 0x9e3779b1));
}

/** What planning gives a gate when nothing is said, of one gate alone. */
export const DEFAULTS: GateSettings = {
  ...{ margin: 0.02, alpha: 0.01, gates: 1, beta: 0.05, minFail: 10, minBad: 3, minPass: 50, absolute: 0.2 },
};

/** How live traffic is: the share that candidate gets, and how often each arm's requests are bad. */
export interface Traffic {
  readonly share: number;
  readonly stable: number;
  readonly candidate: number;
}

/** A block of so many requests. */
export function block(requests: number, { share, stable, candidate }: Traffic, chance: Chance): Counts {
  let [mc, yc, ys] = [0, 0, 0];
  for (let request = 0; request < requests; request++) {
    const own = chance() < share;
    const bad = chance() < (own ? candidate : stable);
    if (own) mc += 1;
    if (bad && own) yc += 1;
    if (bad && !own) ys += 1;
  }
  return { ms: requests - mc, ys, mc, yc };
}

/** One request of candidate, and the stable ones that came before it. */
export function single({ share, stable, candidate }: Traffic, chance: Chance): Counts {
  let [ms, ys] = [0, 0];
  while (chance() >= share) {
    ms += 1;
    if (chance() < stable) ys += 1;
  }
  return { ms, ys, mc: 1, yc: chance() < candidate ? 1 : 0 };
}

/** Feeds blocks of 50 until so many requests went by or `until` says yes. */
export function feed(
  state: GateState,
  requests: number,
  traffic: Traffic,
  chance: Chance,
  settings: GateSettings,
  until: (state: GateState) => boolean = ({ failed }) => failed,
): GateState {
  let now = state;
  for (let sent = 0; sent < requests && !until(now); sent += 50)
    now = observe(now, block(50, traffic, chance), settings);
  return now;
}

/** Feeds single requests of candidate until `until` says yes, or so many went by; and how many it took, else Infinity. */
export function countUntil(
  until: (state: GateState) => boolean,
  most: number,
  traffic: Traffic,
  chance: Chance,
  settings: GateSettings,
  state: GateState = newGate(),
): number {
  let now = state;
  for (let sent = 1; sent <= most; sent++) {
    now = observe(now, single(traffic, chance), settings);
    if (until(now)) return sent;
  }
  return Number.POSITIVE_INFINITY;
}

/** What so many runs come to, from the smallest to the largest. Each has a seed of its own. */
export function sorted(runs: number, run: (chance: Chance) => number): number[] {
  return Array.from({ length: runs }, (_, at) => run(seeded(at + 1))).sort((a, b) => a - b);
}

/** The value that a share of sorted values does not exceed: 0.5 for the median. */
export function quantile(values: readonly number[], share: number): number {
  return values[Math.ceil(share * values.length) - 1] ?? Number.NaN;
}
