import { Gate } from "../../config-rollout.ts";
import * as s from "../../schema.ts";

export { readBody } from "./body.ts";

/** As a text: an expression of Unicode's classes in the code is looked at whenever an isolate starts. */
const CLEAN = "^[^\\p{Cc}\\p{Cs}]+$";
const words = (most: number) =>
  s.trimmed(s.filled, s.longest(most, `is longer than ${most} characters`), [
    (text) => new RegExp(CLEAN, "u").test(text),
    "holds a control character",
  ]);
const actor = words(100);

export const CommandBody = s.strict({
  actor,
  reason: s.orNull(words(500)),
  expect: s.orNull(s.number(s.whole, s.least(0, "is negative"))),
});

export const CheckBody = s.strict({
  check: s.one(["golden"], "must be golden"),
  verdict: s.one(["pass", "fail", "inconclusive"], "must be pass, fail or inconclusive"),
  summary: words(500),
  actor,
  /** The versions that were compared: what was found of others says nothing here. */
  stable: s.orNull(s.positive),
  candidate: s.orNull(s.positive),
});

export const WithdrawBody = s.strict({
  /** Two lines: a time and a worker version's id. */
  order: s.string(s.like(/^[^\n]{0,40}\n[^\n]{1,100}$/, "must be a time, a line feed and an id")),
  actor,
});

const time = s.number(s.whole, s.least(0, "is negative"));

/** Two worker versions that are compared; times in milliseconds since the epoch. */
export const RampBody = s.strict({
  old: s.string(s.filled, s.longest(100, "is longer than 100 characters")),
  new: s.string(s.filled, s.longest(100, "is longer than 100 characters")),
  since: time,
  step: time,
  gates: s.list(Gate),
});
