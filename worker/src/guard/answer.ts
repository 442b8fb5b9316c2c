import type { Answer, Choice } from "../backends/backend.ts";
import type { Batch } from "../backends/pieces.ts";
import type { GatewayContext } from "../gateway.ts";
import { GuardedStream } from "./choice-stream.ts";
import { note } from "./note.ts";
import type { AnswerRules, Note } from "./rules.ts";
import { guardText, guardValue, type Seen } from "./values.ts";

/** What the stage does to answers, or null when that is nothing. */
function rulesOf(c: GatewayContext): AnswerRules | null {
  const { config, blocklist } = c.get("gateway");
  const masks = config.guard.mask_answers;
  return masks || blocklist !== null ? { masks, blocklist } : null;
}

/** What the client may see of a whole answer. */
export function guardAnswer(c: GatewayContext, answer: Answer): Answer {
  const rules = rulesOf(c);
  if (rules === null) return answer;
  return { ...answer, choices: answer.choices.map((choice) => guardChoice(choice, rules, (hit) => note(c, hit))) };
}

/** Whether the stage would find anything in an answer that nobody is shown. Nothing is noted of it. */
export function wouldGuard(c: GatewayContext, answer: Answer): boolean {
  const rules = rulesOf(c);
  let found = false;
  const told = () => {
    found = true;
  };
  if (rules !== null) for (const choice of answer.choices) guardChoice(choice, rules, told);
  return found;
}

/** What makes of each batch of a stream what the client may see of it; holds back no more than could begin a hit. Null: it sees all. */
export function answerGuard(c: GatewayContext): ((batch: Batch) => Batch) | null {
  const rules = rulesOf(c);
  if (rules === null) return null;
  const stream = new GuardedStream(rules, (hit) => note(c, hit));
  return ({ pieces, last }) => {
    const seen = pieces.map((piece) => stream.pass(piece));
    const rest = last ? stream.rest() : null;
    if (rest !== null) seen.push(rest);
    return { pieces: seen.filter(({ usage, choices }) => usage !== null || choices.length > 0), last };
  };
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

function guardCall(call: unknown, rules: AnswerRules, told: Note): Seen {
  const wanted = (call as { function?: Json | null } | null)?.function;
  if (typeof wanted?.arguments !== "string") return { value: call, blocked: false };
  const { value, blocked } = guardText(wanted.arguments, true, rules, told);
  if (value === wanted.arguments) return { value: call, blocked };
  return { value: { ...(call as Json), function: { ...wanted, arguments: value } }, blocked };
}
