import * as v from "valibot";
import { Auth, Budgets, Conversations, Guard, Resilience, Semantic, Telemetry, Timeouts } from "./config-policies.ts";
import { Rollout, Rollouts, rolloutFault } from "./config-rollout.ts";
import { isPrivate } from "./loopback.ts";

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const positive = v.pipe(v.number(), v.integer(), v.minValue(1));
const text = v.pipe(v.string(), v.minLength(1));

const ArtifactFile = v.object({
  name: text,
  key: text,
  sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "must be 64 hex digits")),
  bytes: count,
});

/** US dollars for a million tokens. `cached` null: cached prompt tokens cost what the others do. */
const Price = v.object({
  input: v.pipe(v.number(), v.minValue(0)),
  cached: v.optional(v.nullable(v.pipe(v.number(), v.minValue(0))), null),
  output: v.pipe(v.number(), v.minValue(0)),
});

const ModelVersion = v.object({
  backend: text,
  /** The backend's own name of the model. */
  id: v.optional(text),
  /** Of a `workers-ai` backend: the LoRA adapter that the model answers with, by its name in the account. */
  lora: v.nullish(text),
  /** Of an `openai` backend: the URL that `/chat/completions` is added to. */
  base_url: v.nullish(text),
  /** Of an `openai` backend: name of the secret that is its bearer token. Without: none is sent. */
  secret: v.nullish(text),
  /** Of an `openai` backend: its provider's name in the stage's AI Gateway, to go through it. Without: directly. */
  provider: v.nullish(text),
  /** Tokens of prompt and answer together. Without: unknown, and not checked. */
  context_window: v.nullish(positive),
  price: v.nullish(Price),
  /** Whether it takes pictures. */
  vision: v.nullish(v.boolean()),
  /** Of an `openai` backend: whether clients may send vLLM's `guided_json` and its like. */
  guided: v.nullish(v.boolean()),
  prompt: v.nullish(v.string()),
  parameters: v.nullish(v.record(v.string(), v.unknown())),
  artifact: v.nullish(v.object({ files: v.array(ArtifactFile) })),
});

/** Which requests go to a small model instead. */
const HybridRoute = v.object({
  /** The model that tells them apart: a linear classifier with a label `simple`. */
  by: text,
  /** Who has the simple ones: `chat-small`, `chat@1`. */
  simple: text,
  /** The least probability of `simple`. */
  threshold: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(1)), 0.5),
});

const Model = v.object({
  task: text,
  default: v.optional(v.boolean(), false),
  versions: v.record(v.pipe(v.string(), v.regex(/^[1-9][0-9]*$/, "a version is a whole number")), ModelVersion),
  /** Who answers, in this order, when this model can't: `chat-small`, `chat@1`. */
  fallback: v.optional(v.array(text), []),
  split: v.pipe(
    v.array(v.tuple([positive, v.pipe(count, v.maxValue(100))])),
    v.minLength(1, "must name at least one version"),
  ),
  /** The way from one version to another. Null: the split is all there is. */
  rollout: v.optional(v.nullable(Rollout), null),
  /** Null: all requests are this model's own. */
  route: v.optional(v.nullable(HybridRoute), null),
});

/** Names travel in headers and paths, and `@` sets off the version. */
const ModelName = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, "a model's name is letters, digits, . _ -"),
);

const Config = v.object({
  stage: text,
  release: v.pipe(text, v.maxLength(64)),
  worker: text,
  models: v.record(ModelName, Model),
  gateway: v.nullable(v.string()),
  cors: v.object({ origins: v.array(text), max_age: count }),
  limits: v.object({
    body_bytes: positive,
    requests: positive,
    period: v.picklist([10, 60]),
    /** Most output tokens that a client may ask for in one request. */
    max_tokens: v.optional(positive, 32_768),
    /** Prompt and answer tokens that one caller may use in a minute. Null: any number. */
    tokens_per_minute: v.optional(v.nullable(positive), null),
  }),
  timeouts: v.optional(Timeouts, {}),
  cache: v.object({
    enabled: v.boolean(),
    /** Seconds; 0 stores nothing. */
    ttl: count,
    /** Also cache requests that leave the temperature to the model version. */
    sampled: v.optional(v.boolean(), false),
    /**
     * Longest that a request waits for an equal one that is on its way, in milliseconds, a streamed one at most 5,000.
     * 0: each asks for itself.
     */
    coalesce_ms: v.optional(count, 30_000),
    /** Answers to nearly the same question too. Null: only to the very same. */
    semantic: v.optional(v.nullable(Semantic), null),
  }),
  auth: Auth,
  resilience: v.optional(Resilience, {}),
  budgets: v.optional(Budgets, {}),
  guard: v.optional(Guard, {}),
  telemetry: v.optional(Telemetry, {}),
  conversations: v.optional(Conversations, {}),
  rollouts: v.optional(Rollouts, {}),
  log: v.object({ prompts: v.boolean() }),
});

export type ModelVersion = v.InferOutput<typeof ModelVersion>;
export type HybridRoute = v.InferOutput<typeof HybridRoute>;
export type Price = v.InferOutput<typeof Price>;
export type Model = v.InferOutput<typeof Model>;
export type GatewayConfig = v.InferOutput<typeof Config>;

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
  const parsed = v.safeParse(Config, value, { abortEarly: true });
  if (!parsed.success) {
    const issue = parsed.issues[0];
    throw new ConfigError(v.getDotPath(issue) ?? "", issue.message);
  }
  for (const [name, model] of Object.entries(parsed.output.models)) checkModel(name, model);
  checkDefault(parsed.output);
  return parsed.output;
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
