import { badRequest } from "../errors.ts";
import type { ContentPart, Message } from "./backend.ts";

/**
 * Messages as every Workers AI schema takes them: content always a string, tool arguments always text. OpenAI also
 * allows null content beside tool calls and arrays of text parts. Throws a 400 that names a part that is not text.
 */
export function forWorkersAi(messages: readonly Message[], offset: number): Message[] {
  return messages.map((message, index) => {
    const path = `messages[${index - offset}]`;
    const plain: Message = { ...message, content: flatten(message.content, path) };
    if (Array.isArray(message.tool_calls)) plain.tool_calls = message.tool_calls.map(withTextArguments);
    return plain;
  });
}

function flatten(content: Message["content"], path: string): string {
  if (content === null) return "";
  if (typeof content === "string") return content;
  return content.map((part, index) => textOf(part, `${path}.content[${index}]`)).join("\n");
}

function textOf(part: ContentPart, path: string): string {
  if (part.type === "text" && typeof part.text === "string") return part.text;
  if (part.type === "refusal" && typeof part.refusal === "string") return part.refusal;
  throw badRequest(`This model takes text only, not \`${part.type}\`.`, path);
}

function withTextArguments(call: unknown): unknown {
  const wanted = (call as { function?: { arguments?: unknown } | null } | null)?.function;
  if (typeof wanted !== "object" || wanted === null || typeof wanted.arguments === "string") return call;
  return { ...(call as object), function: { ...wanted, arguments: JSON.stringify(wanted.arguments ?? {}) } };
}
