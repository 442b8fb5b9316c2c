import type { Message } from "../backends/backend.ts";
import type { ChatRequest } from "../chat/request.ts";
import type { GatewayConfig } from "../config.ts";
import { ApiError } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";
import { findRoute, userOf } from "../routing/find.ts";
import type { Soon } from "../soon.ts";
import { otherText, textOf } from "../tokens/estimate.ts";
import { findInjection } from "./injection.ts";
import { type Judge, newJudge } from "./judge.ts";
import { mask, maskJson } from "./mask.ts";
import { note } from "./note.ts";
import { guardValue } from "./values.ts";

/** Who may bring in words of strangers: the system's are the application's own, the assistant's were looked over. */
const LOOKED_AT: ReadonlySet<string> = new Set(["user", "tool"]);

/**
 * Looks a request over before anything is spent on it; gives what goes on. One that was judged is masked alone. `lead`:
 * what the client wants to go before its messages. Rejects with the 400 of a refused prompt.
 */
export async function guardPrompt(
  c: GatewayContext,
  request: ChatRequest,
  lead: readonly Message[] = [],
): Promise<ChatRequest> {
  const { mode, mask_prompts, max_characters } = c.get("gateway").config.guard;
  if (request.judged !== true) {
    checkLength([...lead, ...request.messages], max_characters);
    if (mode !== "off") lookForInjection(c, request.messages, await judgeOf(c, request.user));
  }
  return mask_prompts ? masked(c, request) : request;
}

function checkLength(messages: readonly Message[], most: number): void {
  const length = messages.reduce((sum, message) => {
    const { content, tool_calls } = message;
    const called = Array.isArray(tool_calls) ? JSON.stringify(tool_calls).length : 0;
    return sum + lengthOf(content) + called + otherText(message).length;
  }, 0);
  if (length <= most) return;
  const message = `The messages have ${length} characters; this stage takes ${most} at most.`;
  throw new ApiError(400, "string_above_max_length", message, { param: "messages" });
}

function lengthOf(content: Message["content"]): number {
  if (content === null) return 0;
  if (typeof content === "string") return content.length;
  return content.reduce((sum, { text }) => sum + (text?.length ?? 0), 0);
}

/** The stage's own classifier. Undefined where it names none, or that can't be had, which the record says: the rules go on alone. */
function judgeOf(c: GatewayContext, user: string | null): Soon<Judge | undefined> {
  const { injection } = c.get("gateway").config.guard;
  return injection === null ? undefined : newJudgeOf(c, user, injection);
}

async function newJudgeOf(
  c: GatewayContext,
  user: string | null,
  { classifier, threshold }: NonNullable<GatewayConfig["guard"]["injection"]>,
): Promise<Judge | undefined> {
  try {
    const { spec } = await findRoute(c, classifier, userOf(c, user));
    return newJudge(await c.get("gateway").linears.get(c.env.MODELS, spec), threshold);
  } catch (error) {
    c.get("record").guardFault = (error as Error).message;
  }
}

function lookForInjection(c: GatewayContext, messages: readonly Message[], judge?: Judge): void {
  const { mode, threshold } = c.get("gateway").config.guard;
  for (const [index, message] of messages.entries()) {
    if (!LOOKED_AT.has(message.role)) continue;
    const beside = otherText(message);
    const text = textOf(message.content);
    const { score, rules } = findInjection(beside === "" ? text : `${text}\n${beside}`, judge);
    if (score === 0) continue;
    for (const rule of rules) note(c, `injection:${rule}`, score);
    if (mode === "block" && score >= threshold) throw refused(index);
  }
}

/** It doesn't tell which words it was, since that is how the next try is made. */
function refused(index: number): ApiError {
  const message = "This message looks like an attempt to change the model's instructions, which this stage refuses.";
  return new ApiError(400, "prompt_injection", message, { param: `messages[${index}]` });
}

function masked(c: GatewayContext, request: ChatRequest): ChatRequest {
  const messages = request.messages.map((message) => maskMessage(c, message));
  if (messages.every((message, index) => message === request.messages[index])) return request;
  // What is not to leave the gateway has no part in the cache's key either.
  return { ...request, messages, identity: { ...request.identity, messages } };
}

function maskMessage(c: GatewayContext, given: Message): Message {
  const message = otherText(given) === "" ? given : maskFields(c, given);
  const content = maskContent(c, message.content);
  const calls = Array.isArray(message.tool_calls) ? (message.tool_calls as unknown[]) : [];
  const maskedCalls = calls.map((call) => maskCall(c, call));
  if (content === message.content && maskedCalls.every((call, index) => call === calls[index])) return message;
  return { ...message, content, ...(calls.length > 0 && { tool_calls: maskedCalls }) };
}

/** All but content, calls and what names them: the reasoning of an earlier turn, or a field of the client's own. */
function maskFields(c: GatewayContext, message: Message): Message {
  const { role, content, tool_calls, tool_call_id, ...others } = message;
  const value = maskValue(c, others);
  return value === others ? message : { ...message, ...(value as object) };
}

function maskContent(c: GatewayContext, content: Message["content"]): Message["content"] {
  if (content === null) return null;
  if (typeof content === "string") return maskText(c, content, false);
  const parts = content.map((part) => {
    if (part.text === undefined) return part;
    const text = maskText(c, part.text, false);
    return text === part.text ? part : { ...part, text };
  });
  return parts.every((part, index) => part === content[index]) ? content : parts;
}

function maskCall(c: GatewayContext, call: unknown): unknown {
  const wanted = (call as { function?: { arguments?: unknown } | null } | null)?.function;
  if (typeof wanted !== "object" || wanted === null) return call;
  // As an object it is no JSON text yet, and becomes one on its way.
  if (typeof wanted.arguments !== "string") {
    const value = maskValue(c, wanted.arguments);
    return value === wanted.arguments ? call : { ...(call as object), function: { ...wanted, arguments: value } };
  }
  const text = maskText(c, wanted.arguments, true);
  return text === wanted.arguments ? call : { ...(call as object), function: { ...wanted, arguments: text } };
}

function maskValue(c: GatewayContext, value: unknown): unknown {
  const told = (hit: string) => note(c, hit.replace("answer:", "prompt:"));
  return guardValue(value, { masks: true, blocklist: null }, told).value;
}

function maskText(c: GatewayContext, text: string, json: boolean): string {
  const { text: seen, kinds } = json ? maskJson(text) : mask(text);
  for (const kind of kinds) note(c, `prompt:${kind}`);
  return seen;
}
