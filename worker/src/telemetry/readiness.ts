import type { Ambient } from "../ambient.ts";
import type { GatewayConfig, ModelVersion } from "../config.ts";
import type { GatewayEnv } from "../env.ts";
import type { Health } from "../resilience/health.ts";

/** Whether a model version's backend could answer now, as far as that is known without paying for an answer. */
export type BackendState =
  | "ready"
  /** It asked to be left alone for a while: its rate limit. */
  | "limited"
  /** Its circuit is open: it failed again and again. */
  | "failing"
  /** Its server can't be reached, or refuses our key. */
  | "unreachable"
  /** Something that it needs is not bound. */
  | "misconfigured"
  /** No backend of this kind runs here. */
  | "not_served";

export interface VersionReadiness {
  readonly version: string;
  readonly backend: string;
  readonly state: BackendState;
  readonly detail: string | null;
}

export interface Readiness {
  /** `degraded`: some model, or some version, has no backend; `unready`: no request could be answered. */
  readonly status: "ready" | "degraded" | "unready";
  readonly faults: readonly string[];
  readonly versions: readonly VersionReadiness[];
}

/** Age at which a server is looked at again. */
const FRESH_MS = 5_000;
const PATIENCE_MS = 2_000;
const USABLE: ReadonlySet<BackendState> = new Set<BackendState>(["ready", "limited"]);

interface Look {
  readonly at: number;
  /** Why the server can't be used; null when it answered. */
  readonly fault: string | null;
}

/** Looks at the stage's backends. An isolate asks each server at most once in `FRESH_MS`, whoever asks the isolate. */
export class ReadinessProbe {
  readonly #config: GatewayConfig;
  readonly #health: Health;
  readonly #ambient: Ambient;
  readonly #looks = new Map<string, Look>();

  constructor(config: GatewayConfig, health: Health, ambient: Ambient) {
    this.#config = config;
    this.#health = health;
    this.#ambient = ambient;
  }

  async look(env: GatewayEnv): Promise<Readiness> {
    const named = Object.entries(this.#config.models).flatMap(([name, model]) =>
      Object.entries(model.versions).map(([version, spec]) => ({ version: `${name}@${version}`, spec })),
    );
    const versions = await Promise.all(named.map(({ version, spec }) => this.#version(version, spec, env)));
    const faults = this.#config.auth.required && !env.API_KEY?.trim() ? ["the secret API_KEY is not bound"] : [];
    return { status: this.#statusOf(versions, faults), faults, versions };
  }

  async #version(version: string, spec: ModelVersion, env: GatewayEnv): Promise<VersionReadiness> {
    const told = (state: BackendState, detail: string | null = null): VersionReadiness => {
      return { version, backend: spec.backend, state, detail };
    };
    if (spec.backend !== "workers-ai" && spec.backend !== "openai") return told("not_served");
    const lacking = lackingOf(spec, env);
    if (lacking !== null) return told("misconfigured", lacking);
    const { circuit, limitedForMs, lastFailure } = this.#health.stateOf(spec);
    if (circuit === "open") return told("failing", lastFailure);
    if (limitedForMs > 0) return told("limited", `for ${Math.ceil(limitedForMs / 1000)} s`);
    const fault = await this.#reach(spec, env);
    return fault === null ? told("ready") : told("unreachable", fault);
  }

  /** Why the version's server can't be used, or null when it can, or is not ours to look at. */
  async #reach(spec: ModelVersion, env: GatewayEnv): Promise<string | null> {
    // Workers AI and AI Gateway have nothing that answers without being paid: the circuit knows them.
    if (spec.backend !== "openai" || !spec.base_url || (spec.provider && this.#config.gateway !== null)) return null;
    const url = `${spec.base_url.replace(/\/+$/, "")}/models`;
    const place = `${url} ${spec.secret ?? ""}`;
    const now = this.#ambient.now();
    const known = this.#looks.get(place);
    if (known !== undefined && now - known.at < FRESH_MS) return known.fault;
    // Others go by what was seen last while this one looks; the very first look for themselves.
    if (known !== undefined) this.#looks.set(place, { at: now, fault: known.fault });
    const fault = await reach(url, spec.secret ? secretOf(env, spec.secret) : null);
    this.#looks.set(place, { at: now, fault });
    return fault;
  }

  #inSplit(): Set<string> {
    const models = Object.entries(this.#config.models);
    return new Set(models.flatMap(([name, { split }]) => split.map(([version]) => `${name}@${version}`)));
  }

  #statusOf(versions: readonly VersionReadiness[], faults: readonly string[]): Readiness["status"] {
    const usable = new Set(versions.filter(({ state }) => USABLE.has(state)).map(({ version }) => version));
    // A version that is kept for the record, or for a way back, may lack what it needs.
    const inSplit = this.#inSplit();
    const served = versions.filter(({ version, state }) => state !== "not_served" && inSplit.has(version));
    if (faults.length > 0 || (served.length > 0 && !served.some(({ version }) => usable.has(version))))
      return "unready";
    return served.every(({ version }) => usable.has(version)) ? "ready" : "degraded";
  }
}

/** What the version needs and the stage has not bound, or null. */
function lackingOf({ backend, secret }: ModelVersion, env: GatewayEnv): string | null {
  if (backend === "workers-ai") return env.AI ? null : "the AI binding is missing";
  return secret && secretOf(env, secret) === null ? `the secret ${secret} is not bound` : null;
}

function secretOf(env: GatewayEnv, name: string): string | null {
  const value = (env as unknown as Record<string, unknown>)[name];
  return typeof value === "string" && value !== "" ? value : null;
}

/** Asks an OpenAI-compatible server for its models, which costs nothing. Any answer but these proves that it is there. */
async function reach(url: string, key: string | null): Promise<string | null> {
  try {
    const response = await fetch(url, {
      signal: AbortSignal.timeout(PATIENCE_MS),
      redirect: "manual",
      headers: key === null ? {} : { authorization: `Bearer ${key}` },
    });
    await response.body?.cancel();
    const { status } = response;
    if (status === 401 || status === 403) return `it refuses our key (${status})`;
    return status >= 500 ? `it answers with status ${status}` : null;
  } catch (error) {
    // The message may hold the URL.
    return error instanceof Error && error.name === "TimeoutError" ? "it does not answer in time" : "no connection";
  }
}
