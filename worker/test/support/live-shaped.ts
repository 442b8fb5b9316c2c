import type { Outcome } from "../../src/rollout/types.ts";
import { POINTS } from "../../src/routing/split.ts";
import type { Chance } from "./traffic.ts";

/** Users who come back; each keeps to one arm. */
const USERS = 3_000;
/** How uneven people are, as the deviation of the log of: requests, size of what they ask, chance of a bad answer. */
const [BUSY, BIG, UNLUCKY] = [1.2, 0.5, 0.7];
/** One isolate has most of what a user asks. */
const ASTRAY = 0.2;
/** After a bad answer a user often asks the same again at once, and mostly gets the same again. */
const [AGAIN, SAME_AGAIN, AGAIN_MS] = [0.3, 0.5, 10_000];
/** Load that all requests share: how fast it changes in a second, how much it varies (deviation of its log). */
const [DRIFT, SWAY] = [0.97, 0.25];
/** Common trouble: how often a second it begins, how long it lasts (ms), how many times as many fail then. */
const [TROUBLES, TROUBLE_MS, TROUBLED] = [1 / 1_200, 20_000, 6];
/** How often each is bad when all is well. */
const [ERROR, BAD_JSON, REFUSAL] = [0.01, 0.004, 0.015];
const ASKS_JSON = 0.5;

interface User {
  readonly client: string;
  readonly point: number;
  readonly home: number;
  readonly size: number;
  readonly luck: number;
  /** What the last answer was, until when it is asked again. */
  again: { readonly kind: Fault; readonly until: number } | null;
}

type Fault = "error" | "json" | "refusal" | "none";

/** One request on its way: who asks, by which isolate. */
export interface Asking {
  readonly user: User;
  readonly isolate: number;
}

/**
 * People and a platform as live traffic has them: few ask most, each sticks to an arm and has its own rates, bad answers
 * come in rows, load and trouble are common to both arms. Both versions are equally good, unless `worse` more of version 2's fail.
 */
export class People {
  readonly #chance: Chance;
  readonly #users: User[];
  /** Sums of how busy users are, for a draw. */
  readonly #upTo: number[] = [];
  /** Common: the log of the load, and until when there is trouble (ms). */
  #load = 0;
  #trouble = 0;
  /** From when on all fail so often (ms); never by default. */
  readonly #fault: { readonly from: number; readonly share: number };
  readonly #worse: number;

  constructor(chance: Chance, isolates: number, fault = { from: Number.POSITIVE_INFINITY, share: 0 }, worse = 0) {
    this.#chance = chance;
    this.#fault = fault;
    this.#worse = worse;
    let busy = 0;
    this.#users = Array.from({ length: USERS }, (_, at) => {
      busy += Math.exp(BUSY * this.#normal());
      this.#upTo.push(busy);
      return {
        ...{ client: `user-${at}`, point: Math.floor(chance() * POINTS), home: Math.floor(chance() * isolates) },
        ...{ size: Math.exp(BIG * this.#normal()), luck: Math.exp(UNLUCKY * this.#normal() - UNLUCKY ** 2 / 2) },
        again: null,
      };
    });
  }

  /** A second goes by. */
  second(now: number): void {
    this.#load = DRIFT * this.#load + Math.sqrt(1 - DRIFT ** 2) * SWAY * this.#normal();
    if (this.#chance() < TROUBLES) this.#trouble = now + TROUBLE_MS;
  }

  /** How many ask within so many seconds at a mean of `rate`: a Poisson number under the load of now. */
  arrivals(rate: number, seconds: number): number {
    const least = Math.exp(-rate * seconds * Math.exp(this.#load - SWAY ** 2 / 2));
    let [count, product] = [0, this.#chance()];
    while (product > least) {
      count++;
      product *= this.#chance();
    }
    return count;
  }

  next(isolates: number): Asking {
    const wanted = this.#chance() * (this.#upTo.at(-1) ?? 0);
    let [low, high] = [0, USERS - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#upTo[middle] ?? 0) > wanted) high = middle;
      else low = middle + 1;
    }
    const user = this.#users[low] as User;
    return { user, isolate: this.#chance() < ASTRAY ? Math.floor(this.#chance() * isolates) : user.home };
  }

  /** What comes of a request that is admitted now. */
  outcome({ user }: Asking, version: number, now: number): Outcome {
    const asksJson = this.#chance() < ASKS_JSON;
    const fate = this.#fate(user, asksJson, now);
    const kind = version === 2 && this.#worse > 0 && this.#chance() < this.#worse ? "error" : fate;
    const failed = kind === "error";
    const tokens = Math.max(8, Math.round(180 * user.size * Math.exp(0.6 * this.#normal())));
    const slow = Math.exp(this.#load);
    const first = 700 * slow * Math.exp(0.6 * this.#normal());
    // What fails does so soon, or after a time that was waited for in vain.
    const total = failed ? (this.#chance() < 0.7 ? 150 : 20_000) : first + tokens * 25 * slow;
    return {
      ...{ model: "chat", version, client: user.client, at: now, part: "whole", failed, source: "live" },
      ...{ first_token_ms: failed ? null : Math.round(first), total_ms: Math.round(total) },
      ...{ tokens: failed ? null : tokens, cost_usd: failed ? null : tokens * 4e-6 },
      ...{ json: asksJson ? kind === "json" : null, empty: false, refusal: kind === "refusal", guard: false },
    };
  }

  #fate(user: User, asksJson: boolean, now: number): Fault {
    const { again, luck } = user;
    if (again !== null && now < again.until && this.#chance() < SAME_AGAIN) return again.kind;
    const kind = this.#drawn(luck, asksJson, now);
    user.again = kind !== "none" && this.#chance() < AGAIN ? { kind, until: now + AGAIN_MS } : null;
    return kind;
  }

  #drawn(luck: number, asksJson: boolean, now: number): Fault {
    const chance = this.#chance();
    const error = now >= this.#fault.from ? this.#fault.share : ERROR * luck * (now < this.#trouble ? TROUBLED : 1);
    if (chance < error) return "error";
    if (chance < error + REFUSAL * luck) return "refusal";
    return asksJson && this.#chance() < BAD_JSON * luck ? "json" : "none";
  }

  #normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.#chance())) * Math.cos(2 * Math.PI * this.#chance());
  }
}
