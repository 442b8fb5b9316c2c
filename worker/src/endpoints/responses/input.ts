import type { ContentPart, Message } from "../../backends/backend.ts";
import type { JsonObject } from "../../chat/json-body.ts";
import { badRequest } from "../../errors.ts";

const ROLES = new Set<unknown>(["system", "developer", "user", "assistant"]);

/** A response's `input`, a text or items, as a chat's messages, not yet sanitised. Throws a 400 that names the item. */
export function messagesOf(input: unknown): JsonObject[] {
  if (typeof input === "string") return [{ role: "user", content: input }];
  if (!Array.isArray(input)) throw badRequest("`input` must be a string or an array of items.", "input");
  const messages: JsonObject[] = [];
  for (const [index, item] of input.entries()) addItem(messages, item, `input[${index}]`);
  if (messages.length === 0) throw badRequest("`input` must hold at least one message.", "input");
  return messages;
}

function addItem(messages: JsonObject[], item: unknown, path: string): void {
  if (typeof item !== "object" || item === null || Array.isArray(item)) {
    throw badRequest(`\`${path}\` must be an object.`, path);
  }
  const { type = "message", ...fields } = item as JsonObject;
  if (type === "message") messages.push(message(fields, path));
  else if (type === "function_call") addCall(messages, fields, path);
  else if (type === "function_call_output") messages.push(callOutput(fields, path));
  // Models think anew; what they thought before is not sent back to them.
  else if (type !== "reasoning") {
    throw badRequest(
      `\`${path}.type\` must be message, function_call, function_call_output or reasoning: others are not served.`,
      `${path}.type`,
    );
  }
}

function message({ role, content }: JsonObject, path: string): JsonObject {
  if (!ROLES.has(role)) {
    throw badRequest(`\`${path}.role\` must be one of system, developer, user, assistant.`, `${path}.role`);
  }
  const parts = contentOf(content, `${path}.content`);
  // Models take an assistant's words as one text.
  return { role, content: role === "assistant" ? wordsOf(parts) : parts };
}

/** Calls that follow each other, or the words before them, are one message of the assistant's. */
function addCall(messages: JsonObject[], item: JsonObject, path: string): void {
  const name = textField(item.name, `${path}.name`);
  const id = textField(item.call_id, `${path}.call_id`);
  const call = { id, type: "function", function: { name, arguments: textField(item.arguments, `${path}.arguments`) } };
  const last = messages.at(-1);
  if (last?.role !== "assistant") messages.push({ role: "assistant", content: null, tool_calls: [call] });
  else last.tool_calls = [...((last.tool_calls as unknown[] | undefined) ?? []), call];
}

function callOutput({ call_id, output }: JsonObject, path: string): Partial<Message> {
  const content = wordsOf(contentOf(output, `${path}.output`));
  return { role: "tool", tool_call_id: textField(call_id, `${path}.call_id`), content };
}

function contentOf(value: unknown, path: string): string | ContentPart[] {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) throw badRequest(`\`${path}\` must be a string or an array of parts.`, path);
  return value.map((part, index) => partOf(part, `${path}[${index}]`));
}

function partOf(value: unknown, path: string): ContentPart {
  const part = (typeof value === "object" && value !== null ? value : {}) as JsonObject;
  switch (part.type) {
    case "input_text":
    case "output_text":
      return { type: "text", text: textField(part.text, `${path}.text`) };
    case "refusal":
      return { type: "text", text: textField(part.refusal, `${path}.refusal`) };
    case "input_image": {
      const url = textField(part.image_url, `${path}.image_url`);
      const { detail } = part;
      return { type: "image_url", image_url: { url, ...(typeof detail === "string" && { detail }) } };
    }
    default:
      throw badRequest(`\`${path}.type\` must be input_text, output_text or input_image.`, `${path}.type`);
  }
}

function wordsOf(content: string | ContentPart[]): string {
  return typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("");
}

function textField(value: unknown, path: string): string {
  if (typeof value === "string") return value;
  throw badRequest(`\`${path}\` must be a string.`, path);
}
