import * as s from "../../schema.ts";
import { words } from "./body.ts";

const CLEAN = "^[^\\p{Cc}\\p{Cs}]+$";
const actor = words(100, CLEAN);

export const CommandBody = s.strict({
  actor,
  reason: s.orNull(words(500, CLEAN)),
  expect: s.orNull(s.number(s.whole, s.least(0, "is negative"))),
});

export const CheckBody = s.strict({
  check: s.one(["golden"], "must be golden"),
  verdict: s.one(["pass", "fail", "inconclusive"], "must be pass, fail or inconclusive"),
  summary: words(500, CLEAN),
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
