import { Auth, Budgets, Conversations, Guard, Resilience, Semantic, Telemetry, Timeouts } from "./config-policies.ts";
import { Rollout, Rollouts, rolloutFault } from "./config-rollout.ts";
import { isPrivate } from "./loopback.ts";
import * as s from "./schema.ts";

const ArtifactFile = s.object({
  name: s.text,
  key: s.text,
  sha256: s.string(s.like(/^[0-9a-f]{64}$/, "must be 64 hex digits")),
  bytes: s.count,
});

/** US dollars for a million tokens. `cached` null: cached prompt tokens cost what the others do. */
const Price = s.object({
  input: s.number(s.least(0)),
  cached: s.orNull(s.number(s.least(0))),
  output: s.number(s.least(0)),
});

const ModelVersion = s.object({
  backend: s.text,
  /** The backend's own name of the model. */
  id: s.maybe(s.text),
  /** Of a `workers-ai` backend: the LoRA adapter that the model answers with, by its name in the account. */
  lora: s.nullish(s.text),
  /** Of an `openai` backend: the URL that `/chat/completions` is added to. */
  base_url: s.nullish(s.text),
  /** Of an `openai` backend: name of the secret that is its bearer token. Without: none is sent. */
  secret: s.nullish(s.text),
  /** Of an `openai` backend: its provider's name in the stage's AI Gateway, to go through it. Without: directly. */
  provider: s.nullish(s.text),
  /** Tokens of prompt and answer together. Without: unknown, and not checked. */
  context_window: s.nullish(s.positive),
  price: s.nullish(Price),
  /** Whether it takes pictures. */
  vision: s.nullish(s.boolean),
  /** Of an `openai` backend: whether clients may send vLLM's `guided_json` and its like. */
  guided: s.nullish(s.boolean),
  prompt: s.nullish(s.string()),
  parameters: s.nullish(s.record(s.string(), s.anything)),
  artifact: s.nullish(s.object({ files: s.list(ArtifactFile) })),
});

/** Which requests go to a small model instead. */
const HybridRoute = s.object({
  /** The model that tells them apart: a linear classifier with a label `simple`. */
  by: s.text,
  /** Who has the simple ones: `chat-small`, `chat@1`. */
  simple: s.text,
  /** The least probability of `simple`. */
  threshold: s.optional(s.share, 0.5),
});

const Model = s.object({
  task: s.text,
  default: s.optional(s.boolean, false),
  versions: s.record(s.string(s.like(/^[1-9][0-9]*$/, "a version is a whole number")), ModelVersion),
  /** Who answers, in this order, when this model can't: `chat-small`, `chat@1`. */
  fallback: s.optional(s.list(s.text), []),
  split: s.list(s.pair(s.positive, s.number(s.whole, s.least(0), s.most(100))), [
    (all) => all.length > 0,
    "must name at least one version",
  ]),
  /** The way from one version to another. Null: the split is all there is. */
  rollout: s.orNull(Rollout),
  /** What its rollout's probes ask: chat completions without model. */
  probes: s.optional(s.list(s.record(s.text, s.anything)), []),
  /** Null: all requests are this model's own. */
  route: s.orNull(HybridRoute),
});

/** Names travel in headers and paths, and `@` sets off the version. */
const ModelName = s.string(s.like(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, "a model's name is letters, digits, . _ -"));

const Config = s.object({
  stage: s.text,
  release: s.string(s.filled, s.longest(64, "is longer than 64 characters")),
  worker: s.text,
  models: s.record(ModelName, Model),
  gateway: s.nullable(s.string()),
  cors: s.object({ origins: s.list(s.text), max_age: s.count }),
  limits: s.object({
    body_bytes: s.positive,
    requests: s.positive,
    period: s.one([10, 60]),
    /** Most output tokens that a client may ask for in one request. */
    max_tokens: s.optional(s.positive, 32_768),
    /** Prompt and answer tokens that one caller may use in a minute. Null: any number. */
    tokens_per_minute: s.orNull(s.positive),
  }),
  timeouts: s.optional(Timeouts, {}),
  cache: s.object({
    enabled: s.boolean,
    /** Seconds; 0 stores nothing. */
    ttl: s.count,
    /** Also cache requests that leave the temperature to the model version. */
    sampled: s.optional(s.boolean, false),
    /**
     * Longest that a request waits for an equal one that is on its way, in milliseconds, a streamed one at most 5,000.
     * 0: each asks for itself.
     */
    coalesce_ms: s.optional(s.count, 30_000),
    /** Answers to nearly the same question too. Null: only to the very same. */
    semantic: s.orNull(Semantic),
  }),
  auth: Auth,
  resilience: s.optional(Resilience, {}),
  budgets: s.optional(Budgets, {}),
  guard: s.optional(Guard, {}),
  telemetry: s.optional(Telemetry, {}),
  conversations: s.optional(Conversations, {}),
  rollouts: s.optional(Rollouts, {}),
  log: s.object({ prompts: s.boolean }),
});

export type ModelVersion = s.Of<typeof ModelVersion>;
export type HybridRoute = s.Of<typeof HybridRoute>;
export type Price = s.Of<typeof Price>;
export type Model = s.Of<typeof Model>;
export type GatewayConfig = s.Of<typeof Config>;

/** `[version, weight]` pairs, stable first; the weights sum to 100. */
export type Split = readonly (readonly [version: number, weight: number])[];

export class ConfigError extends Error {
  override name = "ConfigError";
  constructor(path: string, fault: string) {
    super(`config.json: ${path === "" ? "" : `${path}: `}${fault}`);
  }
}

/** Parses the stage's `config.json`. Throws `ConfigError` naming the path of the first fault. */
export function parseConfig(configText: string): GatewayConfig {
  let value: unknown;
  try {
    value = JSON.parse(configText);
  } catch (error) {
    throw new ConfigError("", `not JSON (${(error as Error).message})`);
  }
  const config = checked(value);
  for (const [name, model] of Object.entries(config.models)) checkModel(name, model);
  checkDefault(config);
  return config;
}

function checked(value: unknown): GatewayConfig {
  try {
    return Config(value, "");
  } catch (fault) {
    throw fault instanceof s.Fault ? new ConfigError(fault.path, fault.message) : fault;
  }
}

function checkModel(name: string, model: Model): void {
  for (const [version, spec] of Object.entries(model.versions)) {
    const [field, fault] = versionFault(spec) ?? [];
    if (field !== undefined) throw new ConfigError(`models.${name}.versions.${version}.${field}`, fault as string);
  }
  const fault = splitFault(model.split, model.versions);
  if (fault !== null) throw new ConfigError(`models.${name}.split`, fault);
  const [at, why] = (model.rollout && rolloutFault(model.rollout, model.versions)) ?? [];
  if (why !== undefined) throw new ConfigError(`models.${name}.rollout.${at}`, why);
}

/** What a version lacks to be asked, or null: the field, and what is wrong with it. */
function versionFault({ backend, id, base_url, provider }: ModelVersion): [field: string, fault: string] | null {
  if (backend !== "workers-ai" && backend !== "openai") return null;
  if (id === undefined) return ["id", `missing; the ${backend} backend needs a model id`];
  if (backend === "workers-ai") return null;
  if (!base_url) return provider ? null : ["base_url", "missing; the openai backend needs it, or a provider"];
  return isSafeBase(base_url) ? null : ["base_url", "must be an https URL without query; http only on loopback"];
}

/** Prompts and keys travel in clear over http, which only the machine itself may see. */
function isSafeBase(base: string): boolean {
  if (!URL.canParse(base)) return false;
  const url = new URL(base);
  const { search, hash, username, password } = url;
  if (search || hash || username || password || base.endsWith("/")) return false;
  return isPrivate(url);
}

/** Why a split can't be served with these versions, or null when it can. */
export function splitFault(split: Split, versions: Record<string, unknown>): string | null {
  const seen = new Set<number>();
  let sum = 0;
  for (const [version, weight] of split) {
    if (!Object.hasOwn(versions, String(version))) return `version ${version} does not exist`;
    if (seen.has(version)) return `version ${version} is named twice`;
    seen.add(version);
    sum += weight;
  }
  return sum === 100 ? null : `weights sum to ${sum}, must be 100`;
}

function checkDefault(config: GatewayConfig): void {
  const defaults = Object.entries(config.models).filter(([, model]) => model.default);
  if (defaults.length > 1) {
    throw new ConfigError("models", `more than one default: ${defaults.map(([name]) => name).join(", ")}`);
  }
}
