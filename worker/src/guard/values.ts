import { mask, maskJson } from "./mask.ts";
import type { AnswerRules, Note } from "./rules.ts";

/** A value as it may be seen. */
export interface Seen {
  /** The same value where there is no hit in it. */
  readonly value: unknown;
  readonly blocked: boolean;
}

/** A value with every text in it looked over by itself. */
export function guardValue(value: unknown, rules: AnswerRules, told: Note, depth = 0): Seen {
  if (typeof value === "string") return guardText(value, false, rules, told);
  if (typeof value !== "object" || value === null || depth > 32) return { value, blocked: false };
  let changed = false;
  let blocked = false;
  const entries = Object.entries(value).map(([name, item]) => {
    const seen = guardValue(item, rules, told, depth + 1);
    changed ||= seen.value !== item;
    blocked ||= seen.blocked;
    return [name, seen.value] as const;
  });
  if (!changed) return { value, blocked };
  return { value: Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries), blocked };
}

/** `json`: the text is a JSON value, and stays one. */
export function guardText(text: string, json: boolean, { masks, blocklist }: AnswerRules, told: Note): Seen {
  let seen = text;
  if (masks) {
    const masked = json ? maskJson(text) : mask(text);
    for (const kind of masked.kinds) told(`answer:${kind}`);
    seen = masked.text;
  }
  const hit = blocklist?.search(seen) ?? -1;
  if (hit === -1) return { value: seen, blocked: false };
  told("answer:blocklist");
  return { value: seen.slice(0, hit), blocked: true };
}
