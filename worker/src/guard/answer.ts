import type { Answer, Choice, Piece } from "../backends/backend.ts";
import type { GatewayContext } from "../gateway.ts";
import { GuardedStream } from "./choice-stream.ts";
import { mask, maskJson } from "./mask.ts";
import { note } from "./note.ts";
import type { AnswerRules, Note } from "./rules.ts";

/** What the stage does to answers, or null when that is nothing. */
function rulesOf(c: GatewayContext): AnswerRules | null {
  const { config, blocklist } = c.var.gateway;
  const masks = config.guard.mask_answers;
  return masks || blocklist !== null ? { masks, blocklist } : null;
}

/** What the client may see of a whole answer. */
export function guardAnswer(c: GatewayContext, answer: Answer): Answer {
  const rules = rulesOf(c);
  if (rules === null) return answer;
  return { ...answer, choices: answer.choices.map((choice) => guardChoice(choice, rules, (hit) => note(c, hit))) };
}

/** What the client may see of a stream; holds back no more than could begin a hit. */
export function guardPieces(
  c: GatewayContext,
  pieces: AsyncGenerator<Piece, void, undefined>,
): AsyncGenerator<Piece, void, undefined> {
  const rules = rulesOf(c);
  if (rules === null) return pieces;
  return guarded(pieces, new GuardedStream(rules, (hit) => note(c, hit)));
}

async function* guarded(
  pieces: AsyncGenerator<Piece, void, undefined>,
  stream: GuardedStream,
): AsyncGenerator<Piece, void, undefined> {
  try {
    // To its end even when nothing of it may be seen any more: its last piece tells what it cost.
    for await (const piece of pieces) {
      const seen = stream.pass(piece);
      if (seen.usage !== null || seen.choices.length > 0) yield seen;
    }
    const rest = stream.rest();
    if (rest !== null) yield rest;
  } finally {
    void pieces.return().catch(() => {});
  }
}

type Json = Record<string, unknown>;

/** A choice up to its first blocked phrase, and with masks in it. */
function guardChoice(choice: Choice, rules: AnswerRules, told: Note): Choice {
  const { role: _, tool_calls, ...said } = choice.message;
  const text = guardValue(said, rules, told);
  const calls = Array.isArray(tool_calls) ? tool_calls.map((call) => guardCall(call, rules, told)) : [];
  const blocked = text.blocked || calls.some((call) => call.blocked);
  const changed = text.value !== said || calls.some(({ value }, index) => value !== (tool_calls as unknown[])[index]);
  if (!changed && !blocked) return choice;
  const message = { ...(text.value as Json), role: "assistant" } as Choice["message"];
  // A call with half its arguments is none.
  if (tool_calls !== undefined && !blocked)
    message.tool_calls = Array.isArray(tool_calls) ? calls.map(({ value }) => value) : null;
  return {
    ...choice,
    message,
    // They would spell what is not to be seen.
    ...("logprobs" in choice && { logprobs: null }),
    finish_reason: blocked ? "content_filter" : choice.finish_reason,
  };
}

interface Seen {
  /** The same value where there is no hit in it. */
  readonly value: unknown;
  readonly blocked: boolean;
}

function guardCall(call: unknown, rules: AnswerRules, told: Note): Seen {
  const wanted = (call as { function?: Json | null } | null)?.function;
  if (typeof wanted?.arguments !== "string") return { value: call, blocked: false };
  const { value, blocked } = guardText(wanted.arguments, true, rules, told);
  if (value === wanted.arguments) return { value: call, blocked };
  return { value: { ...(call as Json), function: { ...wanted, arguments: value } }, blocked };
}

function guardValue(value: unknown, rules: AnswerRules, told: Note, depth = 0): Seen {
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
function guardText(text: string, json: boolean, { masks, blocklist }: AnswerRules, told: Note): Seen {
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
