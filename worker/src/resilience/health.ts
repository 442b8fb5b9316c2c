import type { GatewayConfig, ModelVersion } from "../config.ts";
import { Breaker, type BreakerState } from "./breaker.ts";
import { type Failure, failureOf } from "./failures.ts";
import { RetryBudget } from "./retry-budget.ts";

/** Longest that a backend's word about its rate limit is taken for true without asking again. */
const LONGEST_LIMIT_MS = 60_000;

/** What this isolate knows of one backend: one model at one place, whichever model versions use it. */
export class BackendHealth {
  readonly breaker: Breaker;
  readonly retries: RetryBudget;
  readonly #now: () => number;
  #limitedUntil = 0;
  #limit: Failure | null = null;
  #lastFailure: string | null = null;

  constructor(settings: GatewayConfig["resilience"], now: () => number) {
    this.breaker = new Breaker(settings.breaker, now);
    this.retries = new RetryBudget(settings.retry_budget);
    this.#now = now;
  }

  /** Milliseconds for which the backend asked to be left alone; 0 when it may be asked. */
  get limitedForMs(): number {
    return Math.max(0, this.#limitedUntil - this.#now());
  }

  /** What it said when it asked so. */
  get limit(): Failure | null {
    return this.#limit;
  }

  /** The last failure's code, until the backend answers; its words may be about another caller's prompt. */
  get lastFailure(): string | null {
    return this.#lastFailure;
  }

  succeeded(): void {
    this.breaker.succeeded();
    this.#lastFailure = null;
    this.#limitedUntil = 0;
  }

  /** `afterMs`: when the backend wants to be asked again, if it said. */
  failed(failure: Failure, afterMs: number | null): void {
    if (failure.sick) {
      this.breaker.failed();
      this.#lastFailure = failure.error.code;
      return;
    }
    this.breaker.ended();
    if (afterMs === null) return;
    this.#limitedUntil = this.#now() + Math.min(afterMs, LONGEST_LIMIT_MS);
    this.#limit = failure;
  }
}

/** Notes how a streamed answer ended that had begun well: `error` null for a whole one. */
export function noteEnd(health: BackendHealth, error: unknown): void {
  const failure = failureOf(error);
  if (error === null) health.succeeded();
  else if (failure !== null) health.failed(failure, null);
}

/** The backends of a stage, as this isolate has come to know them. */
export class Health {
  readonly #settings: GatewayConfig["resilience"];
  readonly #now: () => number;
  readonly #known = new Map<string, BackendHealth>();
  readonly #byVersion = new Map<ModelVersion, BackendHealth>();

  constructor(settings: GatewayConfig["resilience"], now: () => number) {
    this.#settings = settings;
    this.#now = now;
  }

  of(version: ModelVersion): BackendHealth {
    let health = this.#byVersion.get(version);
    if (health === undefined) {
      const place = placeOf(version);
      health = this.#known.get(place) ?? new BackendHealth(this.#settings, this.#now);
      this.#known.set(place, health);
      this.#byVersion.set(version, health);
    }
    return health;
  }

  /** For `/readyz` and metrics: how a version's backend stands, without asking it. */
  stateOf(version: ModelVersion): { circuit: BreakerState; limitedForMs: number; lastFailure: string | null } {
    const { breaker, limitedForMs, lastFailure } = this.of(version);
    return { circuit: breaker.state, limitedForMs, lastFailure };
  }
}

/**
 * Versions that differ in prompt or parameters alone share a backend, its limits and its outages. An adapter is a part
 * of it: one that isn't there must not close the way to its base.
 */
function placeOf(version: ModelVersion): string {
  const { backend, provider, base_url, id, lora, artifact } = version;
  return JSON.stringify([backend, provider ?? null, base_url ?? null, id ?? artifact?.files[0]?.key ?? null, lora]);
}
