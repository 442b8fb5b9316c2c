import type { ContentPart, Message } from "../backends/backend.ts";
import { badRequest } from "../errors.ts";
import { sanitise, sanitiseAll } from "./sanitise.ts";

/** As many as OpenAI takes: each costs a look by itself, also one that says nothing. */
const MOST_MESSAGES = 2_048;
const ROLES = new Set(["system", "user", "assistant", "tool"]);

/** Messages of a request, checked and sanitised. Throws a 400 that names the first field at fault. */
export function readMessages(value: unknown): Message[] {
  if (!Array.isArray(value)) throw badRequest("`messages` must be an array.", "messages");
  if (value.length === 0) throw badRequest("`messages` must hold at least one message.", "messages");
  if (value.length > MOST_MESSAGES) {
    throw badRequest(`\`messages\` must hold at most ${MOST_MESSAGES} messages.`, "messages");
  }
  return value.map((message, index) => readMessage(message, `messages[${index}]`));
}

function readMessage(value: unknown, path: string): Message {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw badRequest(`\`${path}\` must be an object.`, path);
  }
  const message = value as Record<string, unknown>;
  // `developer` is OpenAI's newer name of the same role, which other models don't know.
  const role = message.role === "developer" ? "system" : message.role;
  if (typeof role !== "string" || !ROLES.has(role)) {
    throw badRequest(`\`${path}.role\` must be one of system, developer, user, assistant, tool.`, `${path}.role`);
  }
  const content = readContent(message.content, `${path}.content`);
  if (content === null && role !== "assistant") {
    throw badRequest(`\`${path}.content\` is missing.`, `${path}.content`);
  }
  if (role === "tool" && typeof message.tool_call_id !== "string") {
    throw badRequest(`\`${path}.tool_call_id\` must name the call that this answers.`, `${path}.tool_call_id`);
  }
  if (message.tool_calls !== undefined && message.tool_calls !== null && !Array.isArray(message.tool_calls)) {
    throw badRequest(`\`${path}.tool_calls\` must be an array.`, `${path}.tool_calls`);
  }
  return { ...withoutHidden(message, path), role: role as Message["role"], content };
}

/** Every other field travels along, so it is sanitised too: names, tool calls, reasoning of an earlier turn. */
function withoutHidden(message: Record<string, unknown>, path: string): Record<string, unknown> {
  const { role: _, content: __, ...rest } = message;
  return sanitised(rest, path) as Record<string, unknown>;
}

function sanitised(value: unknown, path: string): unknown {
  try {
    return sanitiseAll(value);
  } catch (error) {
    throw badRequest(`\`${path}\` is ${(error as Error).message}.`, path);
  }
}

function readContent(value: unknown, path: string): Message["content"] {
  if (value === undefined || value === null) return null;
  if (typeof value === "string") return sanitise(value);
  if (!Array.isArray(value)) throw badRequest(`\`${path}\` must be a string or an array of parts.`, path);
  return value.map((part, index) => readPart(part, `${path}[${index}]`));
}

/** A part that is no text, and can't pass for one where tokens are counted. */
function withoutText({ text: _, ...part }: ContentPart): ContentPart {
  return part;
}

function readPart(value: unknown, path: string): ContentPart {
  const type = (value as { type?: unknown } | null)?.type;
  if (typeof type !== "string") throw badRequest(`\`${path}.type\` must be a string.`, `${path}.type`);
  const part = value as ContentPart;
  // Models get it as text, so that it is looked over and counted as such.
  if (type === "refusal" && typeof part.refusal === "string") return { type: "text", text: sanitise(part.refusal) };
  if (type !== "text") return withoutText(sanitised(part, path) as ContentPart);
  if (typeof part.text !== "string") throw badRequest(`\`${path}.text\` must be a string.`, `${path}.text`);
  return sanitised(part, path) as ContentPart;
}
