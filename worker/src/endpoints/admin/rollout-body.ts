import * as v from "valibot";
import type { JsonObject } from "../../chat/json-body.ts";
import { badRequest } from "../../errors.ts";

const words = (most: number) =>
  v.pipe(
    v.string("must be a text"),
    v.trim(),
    v.minLength(1, "is empty"),
    v.maxLength(most, `is longer than ${most} characters`),
    v.regex(/^[^\p{Cc}\p{Cs}]+$/u, "holds a control character"),
  );
const actor = words(100);
const version = v.pipe(
  v.number("must be a number"),
  v.integer("must be a whole number"),
  v.minValue(1, "must be at least 1"),
);

export const CommandBody = v.strictObject({
  actor,
  reason: v.optional(v.nullable(words(500)), null),
  expect: v.optional(
    v.nullable(v.pipe(v.number("must be a number"), v.integer("must be a whole number"), v.minValue(0, "is negative"))),
    null,
  ),
});

export const CheckBody = v.strictObject({
  check: v.literal("golden", "must be golden"),
  verdict: v.picklist(["pass", "fail", "inconclusive"], "must be pass, fail or inconclusive"),
  summary: words(500),
  actor,
  /** The versions that were compared: what was found of others says nothing here. */
  stable: v.optional(v.nullable(version), null),
  candidate: v.optional(v.nullable(version), null),
});

export const WithdrawBody = v.strictObject({
  /** Two lines: a time and a worker version's id. */
  order: v.pipe(
    v.string("must be a text"),
    v.regex(/^[^\n]{0,40}\n[^\n]{1,100}$/, "must be a time, a line feed and an id"),
  ),
  actor,
});

/** Reads a body of an admin's. Throws a 400 that names the first field at fault. */
export function readBody<S extends v.GenericSchema>(schema: S, body: JsonObject): v.InferOutput<S> {
  const read = v.safeParse(schema, body, { abortEarly: true });
  if (read.success) return read.output;
  const [issue] = read.issues;
  const path = v.getDotPath(issue) ?? "body";
  throw badRequest(`\`${path}\` ${issue.type === "strict_object" ? strictFault(issue) : issue.message}.`, path);
}

function strictFault({ expected }: v.BaseIssue<unknown>): string {
  return expected === "never" ? "is not known here" : "is missing";
}
