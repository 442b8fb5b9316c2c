import * as v from "valibot";
import { isPrivate } from "./loopback.ts";

/** What the gateway does around a model, block by block. Every field has a default, so that a config may leave all out. */

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const positive = v.pipe(v.number(), v.integer(), v.minValue(1));
const share = v.pipe(v.number(), v.minValue(0), v.maxValue(1));
const text = v.pipe(v.string(), v.minLength(1));

/** `usd` in a period, for each key or team, or for the stage as a whole. */
export const Budget = v.object({
  scope: v.picklist(["key", "team", "stage"]),
  period: v.picklist(["day", "month"]),
  usd: v.pipe(v.number(), v.minValue(0)),
  /** What a request over it gets: a refusal, or this cheaper model (`chat-small` or `chat@1`). */
  fall_to: v.optional(v.nullable(text), null),
});
export type Budget = v.InferOutput<typeof Budget>;

export const Budgets = v.object({
  limits: v.optional(v.array(Budget), []),
  /** Names of the secrets that hold the URL which is told at 50, 80 and 100 %. Null: nobody is told. */
  webhook: v.optional(v.nullable(text), null),
});

export const Timeouts = v.object({
  /** Longest wait for the first content of a streamed answer. */
  first_token_ms: v.optional(positive, 60_000),
  /** Longest silence between two pieces of it. */
  idle_ms: v.optional(positive, 30_000),
  /** Longest that it may take as a whole, however busily it comes. */
  stream_ms: v.optional(positive, 600_000),
  /** Longest that a client may leave a piece of a streamed answer unread. */
  client_ms: v.optional(positive, 60_000),
  /** Longest wait for an answer that is not streamed. */
  answer_ms: v.optional(positive, 180_000),
});

export const Resilience = v.object({
  /** Most calls to one backend for one request, the first included. */
  attempts: v.optional(v.pipe(positive, v.maxValue(10)), 3),
  /** Retries as a share of requests, so that a failing backend is not called many times over. */
  retry_budget: v.optional(share, 0.2),
  base_ms: v.optional(positive, 100),
  cap_ms: v.optional(positive, 2_000),
  /** Longest that a request waits for a backend that is at its rate limit before it falls back. */
  queue_ms: v.optional(count, 2_000),
  breaker: v.optional(
    v.object({
      failures: v.optional(positive, 5),
      window_ms: v.optional(positive, 30_000),
      open_ms: v.optional(positive, 15_000),
    }),
    {},
  ),
  /** Seconds for which a cached answer may be given after its time, when no backend answers. 0: never. */
  stale: v.optional(count, 0),
  /** The stage's answer when no backend has one. Null: an error. */
  default_answer: v.optional(v.nullable(text), null),
});

function isPrivateAddress(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const url = new URL(address);
  // What stands before an @ is no host, however much it looks like this machine.
  return isPrivate(url) && url.username === "" && url.password === "";
}

const Issuer = v.object({
  issuer: text,
  /** Whoever answers there decides who may come in, so nobody on the way may. */
  jwks_uri: v.pipe(text, v.check(isPrivateAddress, "must be an https URL; http only on loopback")),
  audience: v.pipe(v.array(text), v.minLength(1)),
  algorithms: v.optional(
    v.array(v.picklist(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"])),
    ["RS256", "ES256"],
  ),
  /** Seconds. */
  leeway: v.optional(v.pipe(count, v.maxValue(300)), 60),
  /** Claims that name the caller and its team, and list the models that it may use. */
  subject_claim: v.optional(text, "sub"),
  team_claim: v.optional(v.nullable(text), null),
  models_claim: v.optional(v.nullable(text), null),
});

export const Auth = v.object({
  required: v.boolean(),
  /** Whether keys made by `sluiceway keys` open the stage, beside the secret `API_KEY`. */
  keys: v.optional(v.boolean(), true),
  issuers: v.optional(v.array(Issuer), []),
  /** Cloudflare Access in front of the stage: its assertions are taken in place of a key. */
  access: v.optional(
    v.nullable(v.object({ team_domain: text, audience: v.pipe(v.array(text), v.minLength(1)) })),
    null,
  ),
});
export type Issuer = v.InferOutput<typeof Issuer>;

export const Guard = v.object({
  /** What becomes of a prompt that looks like an injection: nothing, a mark in log and header, a 400. */
  mode: v.optional(v.picklist(["off", "flag", "block"]), "flag"),
  threshold: v.optional(share, 0.5),
  /** Longest text that one request may send, in characters. */
  max_characters: v.optional(positive, 1_000_000),
  /** Mask secrets and personal data in what goes to the model, and in what comes back. Logs are always masked. */
  mask_prompts: v.optional(v.boolean(), false),
  mask_answers: v.optional(v.boolean(), false),
  /** Words and phrases that no answer may hold, in any language. */
  blocklist: v.optional(v.array(text), []),
});

export const Semantic = v.object({
  /** Model of task `embed` whose vectors tell how near two prompts are. */
  model: text,
  threshold: v.optional(share, 0.95),
  /** Most answers that are looked through, for each tenant and model version. */
  entries: v.optional(positive, 200),
});

export const Telemetry = v.object({
  /** Where traces go by OTLP over HTTP (JSON), `https://host/v1/traces`. Null: nowhere. */
  otlp: v.optional(
    v.nullable(
      v.object({
        endpoint: v.pipe(text, v.check(isPrivateAddress, "must be https, or http on this machine")),
        share: v.optional(share, 1),
        /** Name of the secret that holds its headers, as `OTEL_EXPORTER_OTLP_HEADERS` does: `name=value,name=value`. */
        secret: v.optional(v.nullable(text), null),
      }),
    ),
    null,
  ),
  /** Whether the secret `SENTRY_DSN` tells where unhandled exceptions go. */
  sentry: v.optional(v.boolean(), false),
});

export const Conversations = v.object({
  enabled: v.optional(v.boolean(), false),
  /** Tokens of history that are sent along; older turns fall away, whole. */
  window_tokens: v.optional(positive, 8_000),
  /** Model that sums up what falls away. Null: it is forgotten. */
  summary_model: v.optional(v.nullable(text), null),
  /** Seconds without a request after which a conversation is deleted. */
  ttl: v.optional(positive, 604_800),
});
