import { modelAllowed } from "../../access/allowed.ts";
import type { KeyRecord, KeySpec } from "../../access/keys.ts";
import { stateOf } from "../../access/keys.ts";
import type { JsonObject } from "../../chat/json-body.ts";
import { badRequest } from "../../errors.ts";
import * as s from "../../schema.ts";
import { readBody, words } from "./body.ts";

const YEAR = 31_536_000;
export const DEFAULT_GRACE = 86_400;
const LONGEST_GRACE = 30 * 86_400;

const title = words(100, "^\\P{C}+$");
const whole = (most: number) => s.number(s.whole, s.least(1), s.most(most));
const model = s.named("must be a model's name", s.filled, s.longest(120, "is too long"));

/** Like the stage's own budgets, for this key alone. */
const KeyBudget = s.strict({
  period: s.one(["day", "month"], "must be day or month"),
  usd: s.number(s.least(0, "must not be negative"), [Number.isFinite, "must be finite"]),
  fall_to: s.orNull(model),
});

const CreateBody = s.strict({
  name: title,
  owner: s.orNull(title),
  team: s.orNull(title),
  models: s.orNull(s.list(model, s.filled, s.longest(200, "is too long"))),
  requests_per_minute: s.orNull(whole(1_000_000)),
  tokens_per_minute: s.orNull(whole(1_000_000_000)),
  budgets: s.optional(
    s.list(KeyBudget, [(all) => new Set(all.map(({ period }) => period)).size === all.length, "names a period twice"]),
    [],
  ),
  /** Seconds. */
  expires_in: s.orNull(whole(10 * YEAR)),
});

const RotateBody = s.strict({
  grace_seconds: s.optional(
    s.number(s.whole, s.least(0, "must not be negative"), s.most(LONGEST_GRACE)),
    DEFAULT_GRACE,
  ),
});

/** What a new key is to be. `serves` says whether the stage has such a model: a key for a misspelt one helps nobody. */
export function readKeySpec(body: JsonObject, serves: (model: string) => boolean, now: number): KeySpec {
  const { name, owner, team, models, requests_per_minute, tokens_per_minute, budgets, expires_in } = readBody(
    CreateBody,
    body,
  );
  const named = [
    ...(models ?? []).map((model, at) => [`models[${at}]`, model] as const),
    ...budgets.map(({ fall_to }, at) => [`budgets[${at}].fall_to`, fall_to] as const),
  ];
  for (const [path, model] of named) {
    if (model === null) continue;
    if (!serves(model))
      throw badRequest(
        `\`${path}\`: this stage has no model \`${model}\`. \`GET /v1/models\` lists those that it has.`,
        path,
      );
    // A budget that falls to a model which its own key may not use would be a refusal that looks like a help.
    if (!modelAllowed({ models }, model)) throw badRequest(`\`${path}\` is not among the key's \`models\`.`, path);
  }
  return {
    ...{ name, owner, team, models },
    ...{ requestsPerMinute: requests_per_minute, tokensPerMinute: tokens_per_minute },
    budgets: budgets.map((budget) => ({ scope: "key" as const, ...budget })),
    expiresAt: expires_in === null ? null : now + expires_in * 1000,
  };
}

/** Milliseconds for which the old secret stays good. */
export function readGrace(body: JsonObject): number {
  return readBody(RotateBody, body).grace_seconds * 1000;
}

/** A key as people see it: times in ISO 8601, no digest. */
export function keyView(key: KeyRecord, now: number): Record<string, unknown> {
  const untils = key.secrets.flatMap(({ until }) => (until !== null && until > now ? [until] : []));
  return {
    ...{ id: key.id, name: key.name, owner: key.owner, team: key.team, models: key.models },
    ...{ requests_per_minute: key.requestsPerMinute, tokens_per_minute: key.tokensPerMinute },
    budgets: key.budgets.map(({ period, usd, fall_to }) => ({ period, usd, fall_to })),
    state: stateOf(key, now),
    created_at: iso(key.createdAt),
    expires_at: iso(key.expiresAt),
    rotated_at: iso(key.rotatedAt),
    revoked_at: iso(key.revokedAt),
    old_secret_until: untils.length === 0 ? null : iso(Math.max(...untils)),
  };
}

function iso(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
