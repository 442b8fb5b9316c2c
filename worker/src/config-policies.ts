import { isPrivate } from "./loopback.ts";
import * as s from "./schema.ts";

/** What the gateway does around a model, block by block. Every field has a default, so that a config may leave all out. */

/** `usd` in a period, for each key or team, or for the stage as a whole. */
export const Budget = s.object({
  scope: s.one(["key", "team", "stage"]),
  period: s.one(["day", "month"]),
  usd: s.number(s.least(0)),
  /** What a request over it gets: a refusal, or this cheaper model (`chat-small` or `chat@1`). */
  fall_to: s.orNull(s.text),
});
export type Budget = s.Of<typeof Budget>;

export const Budgets = s.object({
  limits: s.optional(s.list(Budget), []),
  /** Names of the secrets that hold the URL which is told at 50, 80 and 100 %. Null: nobody is told. */
  webhook: s.orNull(s.text),
});

export const Timeouts = s.object({
  /** Longest wait for the first content of a streamed answer. */
  first_token_ms: s.optional(s.positive, 60_000),
  /** Longest silence between two pieces of it. */
  idle_ms: s.optional(s.positive, 30_000),
  /** Longest that it may take as a whole, however busily it comes. */
  stream_ms: s.optional(s.positive, 600_000),
  /** Longest that a client may leave a piece of a streamed answer unread. */
  client_ms: s.optional(s.positive, 60_000),
  /** Longest wait for an answer that is not streamed. */
  answer_ms: s.optional(s.positive, 180_000),
});

export const Resilience = s.object({
  /** Most calls to one backend for one request, the first included. */
  attempts: s.optional(s.number(s.whole, s.least(1), s.most(10)), 3),
  /** Retries as a share of requests, so that a failing backend is not called many times over. */
  retry_budget: s.optional(s.share, 0.2),
  base_ms: s.optional(s.positive, 100),
  cap_ms: s.optional(s.positive, 2_000),
  /** Longest that a request waits for a backend that is at its rate limit before it falls back. */
  queue_ms: s.optional(s.count, 2_000),
  breaker: s.optional(
    s.object({
      failures: s.optional(s.positive, 5),
      window_ms: s.optional(s.positive, 30_000),
      open_ms: s.optional(s.positive, 15_000),
    }),
    {},
  ),
  /** Seconds for which a cached answer may be given after its time, when no backend answers. 0: never. */
  stale: s.optional(s.count, 0),
  /** The stage's answer when no backend has one. Null: an error. */
  default_answer: s.orNull(s.text),
});

function isPrivateAddress(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const url = new URL(address);
  // What stands before an @ is no host, however much it looks like this machine.
  return isPrivate(url) && url.username === "" && url.password === "";
}

const Issuer = s.object({
  issuer: s.text,
  /** Whoever answers there decides who may come in, so nobody on the way may. */
  jwks_uri: s.string(s.filled, [isPrivateAddress, "must be an https URL; http only on loopback"]),
  audience: s.list(s.text, s.filled),
  algorithms: s.optional(
    s.list(s.one(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"])),
    ["RS256", "ES256"],
  ),
  /** Seconds. */
  leeway: s.optional(s.number(s.whole, s.least(0), s.most(300)), 60),
  /** Claims that name the caller and its team, and list the models that it may use. */
  subject_claim: s.optional(s.text, "sub"),
  team_claim: s.orNull(s.text),
  models_claim: s.orNull(s.text),
});

export const Auth = s.object({
  required: s.boolean,
  /** Whether keys made by `sluiceway keys` open the stage, beside the secret `API_KEY`. */
  keys: s.optional(s.boolean, true),
  issuers: s.optional(s.list(Issuer), []),
  /** Cloudflare Access in front of the stage: its assertions are taken in place of a key. */
  access: s.orNull(s.object({ team_domain: s.text, audience: s.list(s.text, s.filled) })),
});
export type Issuer = s.Of<typeof Issuer>;

export const Guard = s.object({
  /** What becomes of a prompt that looks like an injection: nothing, a mark in log and header, a 400. */
  mode: s.optional(s.one(["off", "flag", "block"]), "flag"),
  threshold: s.optional(s.share, 0.5),
  /** A linear classifier that is joined to the rules, from how likely an attack on. Null: the rules alone. */
  injection: s.orNull(s.object({ classifier: s.text, threshold: s.optional(s.share, 0.8) })),
  /** Longest text that one request may send, in characters. */
  max_characters: s.optional(s.positive, 1_000_000),
  /** Mask secrets and personal data in what goes to the model, and in what comes back. Logs are always masked. */
  mask_prompts: s.optional(s.boolean, false),
  mask_answers: s.optional(s.boolean, false),
  /** Words and phrases that no answer may hold, in any language. */
  blocklist: s.optional(s.list(s.text), []),
});

export const Semantic = s.object({
  /** Model of task `embed` whose vectors tell how near two prompts are. */
  model: s.text,
  threshold: s.optional(s.share, 0.95),
  /** Most answers that are looked through, for each tenant and model version. */
  entries: s.optional(s.positive, 200),
});

export const Telemetry = s.object({
  /** Where traces go by OTLP over HTTP (JSON), `https://host/v1/traces`. Null: nowhere. */
  otlp: s.optional(
    s.nullable(
      s.object({
        endpoint: s.string(s.filled, [isPrivateAddress, "must be https, or http on this machine"]),
        share: s.optional(s.share, 1),
        /** Name of the secret that holds its headers, as `OTEL_EXPORTER_OTLP_HEADERS` does: `name=value,name=value`. */
        secret: s.orNull(s.text),
      }),
    ),
    null,
  ),
  /** Whether the secret `SENTRY_DSN` tells where unhandled exceptions go. */
  sentry: s.optional(s.boolean, false),
});

export const Conversations = s.object({
  enabled: s.optional(s.boolean, false),
  /** Tokens of history that are sent along; older turns fall away, whole. */
  window_tokens: s.optional(s.positive, 8_000),
  /** Model that sums up what falls away. Null: it is forgotten. */
  summary_model: s.orNull(s.text),
  /** Seconds without a request after which a conversation is deleted. */
  ttl: s.optional(s.positive, 604_800),
});
