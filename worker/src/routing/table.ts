import { canonicalJson } from "../canonical.ts";
import { type GatewayConfig, type Split, splitFault } from "../config.ts";
import { sha256Hex } from "../digest.ts";
import type { GatewayEnv } from "../env.ts";
import { within } from "../patience.ts";
import { controllerOf, type RolloutPort, type Served } from "../rollout/port.ts";
import type { Batch, LiveSplits, ModelSpec, StageSpec } from "../rollout/types.ts";
import type { Soon } from "../soon.ts";

export { controllerOf } from "../rollout/port.ts";

type Later = (work: Promise<void>) => void;
type Mirror = LiveSplits["mirrors"][string];

/** Age at which live weights are asked for again, in the background: where a rollout moves them, and elsewhere. */
const MOVING_MS = 1_000;
const FRESH_MS = 2_000;
/** Age beyond which a request of a model on its way waits for them: a flip is in force everywhere after this. */
const OLDEST_MS = 2_000;
/** Longest that a request waits for the controller before it goes by what is known. */
const WAIT_MS = 250;
/** A refresh whose request died with its client is given up after this. */
const STUCK_MS = 5_000;
/** Longest that a batch waits for its answer. */
const REPORT_MS = 5_000;

/**
 * The live split as this isolate knows it: stale while it is refreshed, and the config's while nothing is known.
 * No promise is kept between requests: the runtime ties each to the request that made it.
 */
export class LiveTable {
  readonly #config: GatewayConfig;
  readonly #now: () => number;
  readonly #portOf: (env: GatewayEnv) => RolloutPort;
  readonly #declared: Readonly<Record<string, ModelSpec>>;
  #digest: string | null = null;
  #weights: Record<string, Split> = {};
  #mirrors: LiveSplits["mirrors"] = {};
  #moving: ReadonlySet<string>;
  #ramping = false;
  #revision = -1;
  /** Answers that were taken: one that was asked for after the last of them is newer, whatever its revision. */
  #taken = 0;
  #askedAt = Number.NEGATIVE_INFINITY;
  /** When the answer that stands was asked for. */
  #asOf = Number.NEGATIVE_INFINITY;
  #asking = false;
  /** The first ask has been answered, or has had its time. */
  #begun = false;
  /** The whole spec has been told: it is large, and always the same, so that its name is enough from then on. */
  #told = false;
  /** The controller let a request wait in vain: no other waits until it answers. */
  #doubted = false;

  constructor(config: GatewayConfig, now: () => number, portOf?: (env: GatewayEnv) => RolloutPort) {
    this.#config = config;
    this.#now = now;
    this.#portOf = portOf ?? ((env) => controllerOf(env, config));
    this.#declared = Object.fromEntries(
      Object.entries(config.models).map(([name, { split, rollout }]) => [name, { split, rollout }]),
    );
    this.#moving = this.#movingIn({});
  }

  /** The live split of a model of the config. Waits, and only briefly, where what is known may have been left. */
  splitOf(model: string, env: GatewayEnv, later: Later): Soon<Split> {
    if (!this.#begun || (!this.#doubted && this.#moving.has(model) && this.#now() - this.#asOf > OLDEST_MS)) {
      return this.#askedAnew(model, env, later);
    }
    if (this.#due()) later(this.refresh(env));
    return this.#knownSplit(model);
  }

  /** Each such request asks for itself, so that none goes by a split that a rollout has left. */
  async #askedAnew(model: string, env: GatewayEnv, later: Later): Promise<Split> {
    const taken = this.#taken;
    const work = this.refresh(env);
    later(work);
    await within(WAIT_MS, work);
    this.#begun = true;
    this.#doubted = this.#taken === taken;
    return this.#knownSplit(model);
  }

  #knownSplit(model: string): Split {
    return this.#weights[model] ?? this.#config.models[model]?.split ?? [];
  }

  /** Which version gets a share of a model's requests again, for nobody to see. */
  mirrorOf(model: string): Mirror | null {
    const mirror = Object.hasOwn(this.#mirrors, model) ? this.#mirrors[model] : undefined;
    return mirror ?? null;
  }

  /** Whether every request is to be told of, for two worker versions are compared. */
  get ramping(): boolean {
    return this.#ramping;
  }

  /** Whether the controller has answered at least once in this isolate. */
  get live(): boolean {
    return this.#taken > 0;
  }

  /** Asks the controller now. Never fails: without an answer the last known weights stand. */
  async refresh(env: GatewayEnv): Promise<void> {
    const asked = this.#ask();
    this.#askedAt = asked.at;
    this.#asking = true;
    try {
      const { stage, rollouts } = this.#config;
      const spec = await this.#spec(env);
      const port = this.#portOf(env);
      const live = this.#told ? await byName(port, spec) : null;
      this.#accept(live ?? (await port.splits(spec, stage, rollouts)), asked);
      this.#told = true;
    } catch {
      // Last known weights stand: a controller that is down or being replaced must not stop traffic.
    } finally {
      this.#asking = false;
    }
  }

  /** Hands on a batch of outcomes, and takes the live split that comes back. False: it must be sent again. */
  async report(env: GatewayEnv, batch: Batch, served: readonly Served[]): Promise<boolean> {
    const asked = this.#ask();
    const { order, digest } = await this.#spec(env);
    const live = await within(REPORT_MS, this.#portOf(env).report({ order, digest }, batch, served));
    if (live === undefined) return false;
    if (live === null) {
      await this.refresh(env);
      return false;
    }
    this.#accept(live, asked);
    this.#askedAt = Math.max(this.#askedAt, asked.at);
    return true;
  }

  /** What this worker version declares. */
  async #spec(env: GatewayEnv): Promise<StageSpec> {
    this.#digest ??= await sha256Hex(canonicalJson(this.#declared));
    const { timestamp, id } = env.VERSION;
    const { release } = this.#config;
    return { order: `${timestamp}\n${id}`, digest: this.#digest, release, models: this.#declared };
  }

  #ask(): { readonly at: number; readonly taken: number } {
    return { at: this.#now(), taken: this.#taken };
  }

  #due(): boolean {
    const age = this.#now() - this.#askedAt;
    if (this.#asking) return age >= STUCK_MS;
    return age >= (this.#moving.size > 0 ? MOVING_MS : FRESH_MS);
  }

  #accept(live: LiveSplits, asked: { readonly at: number; readonly taken: number }): void {
    // Answers overtake each other.
    if (live.revision < this.#revision && asked.taken !== this.#taken) return;
    const weights: Record<string, Split> = {};
    for (const [name, split] of Object.entries(live.weights)) {
      const model = Object.hasOwn(this.#config.models, name) ? this.#config.models[name] : undefined;
      const mine = model === undefined ? null : servable(split, model.versions);
      if (mine !== null) weights[name] = mine;
    }
    this.#weights = weights;
    this.#mirrors = live.mirrors;
    this.#ramping = live.ramp ?? false;
    this.#moving = this.#movingIn(weights);
    this.#revision = live.revision;
    this.#asOf = asked.at;
    this.#taken++;
    this.#doubted = false;
  }

  /** Models whose live split another than git may move: by a rollout of ours, or of another worker version's. */
  #movingIn(weights: Readonly<Record<string, Split>>): ReadonlySet<string> {
    const moving = Object.entries(this.#declared).filter(([name, { split, rollout }]) => {
      const live = weights[name];
      return rollout !== null || (live !== undefined && String(live) !== String(split));
    });
    return new Set(moving.map(([name]) => name));
  }
}

/** Null: it must be told the whole spec; also where another worker version's controller can't go by the name. */
async function byName(port: RolloutPort, { order, digest }: StageSpec): Promise<LiveSplits | null> {
  try {
    return await port.live({ order, digest });
  } catch {
    return null;
  }
}

/**
 * A live split as this worker version can serve it, or null when it can't. Another worker version's candidate is not
 * ours: its share is stable's.
 */
function servable(split: Split, versions: Readonly<Record<string, unknown>>): Split | null {
  const [stable, ...candidates] = split;
  if (stable === undefined) return null;
  const known = candidates.filter(([version]) => Object.hasOwn(versions, String(version)));
  const foreign = candidates.reduce((sum, arm) => (known.includes(arm) ? sum : sum + arm[1]), 0);
  const mine: Split = [[stable[0], stable[1] + foreign], ...known];
  return splitFault(mine, versions) === null ? mine : null;
}
