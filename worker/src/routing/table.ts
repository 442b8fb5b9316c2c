import { canonicalJson } from "../canonical.ts";
import { type GatewayConfig, type Split, splitFault } from "../config.ts";
import { sha256Hex } from "../digest.ts";
import type { GatewayEnv } from "../env.ts";
import { within } from "../patience.ts";
import type { RolloutSpec, RolloutTable } from "../rollout/core.ts";

/** Part of the controller that the table asks. */
export interface TableSource {
  table(specDigest: string, spec: RolloutSpec): Promise<{ weights: RolloutTable }>;
}

/** The stage's one controller. */
export function controllerOf(env: GatewayEnv, config: GatewayConfig): TableSource {
  // The stub's own types wrap every result for RPC; what arrives is the plain value.
  return env.ROLLOUTS.getByName(config.stage) as unknown as TableSource;
}

/** Age at which live weights are asked for again, in the background. */
const FRESH_MS = 2_000;
/** Longest that the isolate's first requests wait for the controller before they go by the config. */
const FIRST_WAIT_MS = 250;
/** A refresh whose request died with its client is given up after this. */
const STUCK_MS = 5_000;

/**
 * The live split as this isolate knows it: stale while it is refreshed, and the config's while nothing is known.
 * No promise is kept between requests: the runtime ties each to the request that made it.
 */
export class LiveTable {
  readonly #config: GatewayConfig;
  readonly #spec: RolloutSpec;
  readonly #now: () => number;
  #digest: string | null = null;
  #weights: RolloutTable = {};
  #askedAt = Number.NEGATIVE_INFINITY;
  #asking = false;
  /** The first ask has been answered, or has had its time. */
  #begun = false;
  #answered = false;

  constructor(config: GatewayConfig, now: () => number) {
    this.#config = config;
    this.#now = now;
    this.#spec = Object.fromEntries(Object.entries(config.models).map(([name, model]) => [name, model.split]));
  }

  /** The live split of a model of the config. Waits, and only briefly, until the controller was first asked. */
  async splitOf(model: string, source: () => TableSource, later: (work: Promise<void>) => void): Promise<Split> {
    if (!this.#begun) {
      // Each of the isolate's first requests asks for itself, so that none goes by a split that a rollout has left.
      const work = this.refresh(source);
      later(work);
      await within(FIRST_WAIT_MS, work);
      this.#begun = true;
    } else if (this.#due()) {
      later(this.refresh(source));
    }
    return this.#weights[model] ?? this.#config.models[model]?.split ?? [];
  }

  /** Whether the controller has answered at least once in this isolate. */
  get live(): boolean {
    return this.#answered;
  }

  #due(): boolean {
    const age = this.#now() - this.#askedAt;
    return age >= (this.#asking ? STUCK_MS : FRESH_MS);
  }

  /** Asks the controller now. Never fails: without an answer the last known weights stand. */
  async refresh(source: () => TableSource): Promise<void> {
    this.#askedAt = this.#now();
    this.#asking = true;
    try {
      this.#digest ??= await sha256Hex(canonicalJson(this.#spec));
      this.#accept((await source().table(this.#digest, this.#spec)).weights);
    } catch {
      // Last known weights stand: a controller that is down or being replaced must not stop traffic.
    } finally {
      this.#asking = false;
    }
  }

  #accept(weights: RolloutTable): void {
    for (const [name, split] of Object.entries(weights)) {
      const model = this.#config.models[name];
      if (model === undefined || splitFault(split, model.versions) !== null) continue;
      this.#weights[name] = split;
    }
    this.#answered = true;
  }
}
