import * as v from "valibot";
import { modelAllowed } from "../../access/allowed.ts";
import type { KeyRecord, KeySpec } from "../../access/keys.ts";
import { stateOf } from "../../access/keys.ts";
import type { JsonObject } from "../../chat/json-body.ts";
import { badRequest } from "../../errors.ts";

const YEAR = 31_536_000;
export const DEFAULT_GRACE = 86_400;
const LONGEST_GRACE = 30 * 86_400;

const words = v.pipe(
  v.string("must be a text"),
  v.trim(),
  v.minLength(1, "is empty"),
  v.maxLength(100, "is longer than 100 characters"),
  v.regex(/^\P{C}+$/u, "holds a control character"),
);
const whole = (most: number) =>
  v.pipe(
    v.number("must be a number"),
    v.integer("must be a whole number"),
    v.minValue(1, "must be at least 1"),
    v.maxValue(most, `must be at most ${most}`),
  );
const optional = <S extends v.GenericSchema>(schema: S) => v.optional(v.nullable(schema), null);
const model = v.pipe(v.string("must be a model's name"), v.minLength(1, "is empty"), v.maxLength(120, "is too long"));

/** Like the stage's own budgets, for this key alone. */
const KeyBudget = v.strictObject({
  period: v.picklist(["day", "month"], "must be day or month"),
  usd: v.pipe(v.number("must be a number"), v.minValue(0, "must not be negative"), v.finite("must be finite")),
  fall_to: optional(model),
});

const CreateBody = v.strictObject({
  name: words,
  owner: optional(words),
  team: optional(words),
  models: optional(
    v.pipe(v.array(model, "must be a list"), v.minLength(1, "is empty"), v.maxLength(200, "is too long")),
  ),
  requests_per_minute: optional(whole(1_000_000)),
  tokens_per_minute: optional(whole(1_000_000_000)),
  budgets: v.optional(
    v.pipe(
      v.array(KeyBudget, "must be a list"),
      v.check((all) => new Set(all.map(({ period }) => period)).size === all.length, "names a period twice"),
    ),
    [],
  ),
  /** Seconds. */
  expires_in: optional(whole(10 * YEAR)),
});

const RotateBody = v.strictObject({
  grace_seconds: v.optional(
    v.pipe(
      v.number("must be a number"),
      v.integer("must be a whole number"),
      v.minValue(0, "must not be negative"),
      v.maxValue(LONGEST_GRACE, `must be at most ${LONGEST_GRACE}`),
    ),
    DEFAULT_GRACE,
  ),
});

/** What a new key is to be. `serves` says whether the stage has such a model: a key for a misspelt one helps nobody. */
export function readKeySpec(body: JsonObject, serves: (model: string) => boolean, now: number): KeySpec {
  const { name, owner, team, models, requests_per_minute, tokens_per_minute, budgets, expires_in } = parse(
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
  return parse(RotateBody, body).grace_seconds * 1000;
}

function parse<S extends v.GenericSchema>(schema: S, body: JsonObject): v.InferOutput<S> {
  const parsed = v.safeParse(schema, body, { abortEarly: true });
  if (parsed.success) return parsed.output;
  const issue = parsed.issues[0];
  const path = (v.getDotPath(issue) ?? "").replaceAll(/\.(\d+)(?=\.|$)/g, "[$1]");
  const fault = issue.type === "strict_object" ? strictFault(issue) : issue.message;
  throw badRequest(`\`${path}\` ${fault}.`, path);
}

function strictFault(issue: v.BaseIssue<unknown>): string {
  if (issue.expected === "never") return "is not known here";
  return issue.received === "undefined" ? "is missing" : "must be an object";
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
