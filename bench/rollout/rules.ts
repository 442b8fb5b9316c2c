import {
  type Counts,
  type GateSettings,
  type GateState,
  isPlatform,
  newGate,
  observe,
} from "../../worker/src/gates/gate.ts";

/** One who decides on a rollout. It is told of each half second, and says "roll back" by returning true. */
export interface Decider {
  readonly name: string;
  tell(second: number, counts: Counts): boolean;
}

/** What our gates have when nothing is said, one of five that share alpha. */
const SETTINGS: GateSettings = {
  ...{ margin: 0.02, alpha: 0.01, gates: 5, beta: 0.05, minFail: 10, minBad: 3, minPass: 50, absolute: 0.2 },
};

export class Ours implements Decider {
  readonly name = "ours";
  /** Whether it has ever said that it is the platform. */
  platform = false;
  #state: GateState = newGate();

  tell(_second: number, counts: Counts): boolean {
    this.#state = observe(this.#state, counts, SETTINGS);
    this.platform ||= isPlatform(this.#state);
    return this.#state.failed;
  }
}

/** A rule on windows of time: so many windows over a limit in all, however many are under it between them. */
export class Windows implements Decider {
  readonly name: string;
  readonly #every: number;
  readonly #limit: number;
  readonly #most: number;
  #requests = 0;
  #bad = 0;
  #failed = 0;

  /** `every`: seconds; `limit`: the share of bad ones that is still good; `most`: the failed check that ends it. */
  constructor(name: string, every: number, limit: number, most: number) {
    this.name = name;
    this.#every = every;
    this.#limit = limit;
    this.#most = most;
  }

  tell(second: number, { mc, yc }: Counts): boolean {
    this.#requests += mc;
    this.#bad += yc;
    if (second === 0 || second % this.#every !== 0) return false;
    // A window without a request counts as good here, which is kinder than the rule.
    if (this.#requests > 0 && this.#bad / this.#requests > this.#limit + 1e-12) this.#failed += 1;
    [this.#requests, this.#bad] = [0, 0];
    return this.#failed >= this.#most;
  }
}

/**
 * Flagger's documented example: a check each minute, at least 99 % good, rolled back at 10 failed checks (`threshold`).
 * Argo Rollouts' documented example: a measurement each 5 minutes, at least 95 % good, `failureLimit: 3`, so that the
 * fourth ends it. And both as one might set them for a model of which 1 % is bad: each minute, 97 %, fewer checks.
 */
export function deciders(): readonly [Ours, ...Decider[]] {
  return [
    new Ours(),
    new Windows("Flagger, as documented", 60, 0.01, 10),
    new Windows("Flagger, 97 %, 5 checks", 60, 0.03, 5),
    new Windows("Argo, as documented", 300, 0.05, 4),
    new Windows("Argo, 97 %, each minute", 60, 0.03, 4),
  ];
}
