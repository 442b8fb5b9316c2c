import type { Message } from "../../backends/backend.ts";
import { isOfMessages } from "../../chat/field-names.ts";
import type { JsonObject } from "../../chat/json-body.ts";
import { type ChatRequest, readChatRequest } from "../../chat/request.ts";
import { sanitise } from "../../chat/sanitise.ts";
import { badRequest } from "../../errors.ts";
import { messagesOf } from "./input.ts";

/** What `POST /v1/responses` asks for. */
export interface ResponseRequest {
  /** Without the instructions, which hold for this answer alone. */
  readonly request: ChatRequest;
  readonly instructions: readonly Message[];
  readonly previous: string | null;
  /** Whether a later request may go on from this one. */
  readonly store: boolean;
  /** Fields that the answer repeats. */
  readonly told: JsonObject;
}

/** Fields that mean the same to a chat model. */
const SHARED = ["model", "temperature", "top_p", "parallel_tool_calls", "user", "seed", "stream"];

/** How a chat's fields are called here. */
const NAMES: Record<string, string> = {
  max_tokens: "max_output_tokens",
  reasoning_effort: "reasoning.effort",
  response_format: "text.format",
};

/** Reads the body. Throws a 400 that names the first field at fault, or one that is not served. */
export function readResponseRequest(body: JsonObject, maxTokens: number): ResponseRequest {
  refuse(body, "background", (value) => value === false);
  refuse(body, "prompt", () => false);
  const reasoning = objectField(body.reasoning, "reasoning");
  const text = objectField(body.text, "text");
  const chat: JsonObject = {
    ...Object.fromEntries(SHARED.filter((name) => Object.hasOwn(body, name)).map((name) => [name, body[name]])),
    messages: messagesOf(body.input),
    max_tokens: body.max_output_tokens,
    tools: toolsOf(body.tools),
    tool_choice: toolChoiceOf(body.tool_choice),
    response_format: formatOf(text.format),
    reasoning_effort: reasoning.effort,
    ...logprobsOf(body),
  };
  return {
    request: readChatRequest(defined(chat), maxTokens),
    instructions: instructionsOf(body.instructions),
    previous: previousOf(body.previous_response_id),
    store: body.store !== false,
    told: toldOf(body),
  };
}

function toldOf(body: JsonObject): JsonObject {
  return {
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: { effort: null, summary: null, ...objectField(body.reasoning, "reasoning") },
    temperature: body.temperature ?? null,
    text: { format: { type: "text" }, ...objectField(body.text, "text") },
    tool_choice: body.tool_choice ?? "auto",
    tools: body.tools ?? [],
    top_p: body.top_p ?? null,
    truncation: body.truncation ?? "disabled",
    ...(typeof body.user === "string" && { user: body.user }),
  };
}

function instructionsOf(value: unknown): Message[] {
  if (value === undefined || value === null || value === "") return [];
  if (typeof value !== "string") throw badRequest("`instructions` must be a string.", "instructions");
  return [{ role: "system", content: sanitise(value) }];
}

function previousOf(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "string" && /^resp_[A-Za-z0-9._-]{1,100}$/.test(value)) return value;
  throw badRequest("`previous_response_id` must be the id of a response, `resp_...`.", "previous_response_id");
}

/** `{type: "function", name, ...}` -> a chat's `{type: "function", function: {name, ...}}`. */
function toolsOf(value: unknown): unknown {
  if (value === undefined || value === null) return undefined;
  if (!Array.isArray(value)) throw badRequest("`tools` must be an array.", "tools");
  if (value.length === 0) return undefined;
  return value.map((tool, index) => {
    const path = `tools[${index}]`;
    const { type, ...fields } = objectField(tool, path);
    if (type !== "function") {
      throw badRequest(`\`${path}.type\` must be function: other tools are not served.`, `${path}.type`);
    }
    if (typeof fields.name !== "string") throw badRequest(`\`${path}.name\` must be a string.`, `${path}.name`);
    return { type, function: defined(fields) };
  });
}

function toolChoiceOf(value: unknown): unknown {
  if (value === undefined || value === null || typeof value === "string") return value;
  const { type, name } = objectField(value, "tool_choice");
  if (type === "function" && typeof name === "string") return { type, function: { name } };
  throw badRequest("`tool_choice` must be auto, none, required or a function by its name.", "tool_choice");
}

/** `{type: "json_schema", name, schema, ...}` -> a chat's `{type: "json_schema", json_schema: {name, schema, ...}}`. */
function formatOf(value: unknown): unknown {
  if (value === undefined || value === null) return undefined;
  const { type, ...fields } = objectField(value, "text.format");
  if (type === "text") return undefined;
  return type === "json_schema" ? { type, json_schema: defined(fields) } : { type };
}

function logprobsOf({ include, top_logprobs }: JsonObject): JsonObject {
  const asked = Array.isArray(include) && include.includes("message.output_text.logprobs");
  if (top_logprobs === undefined || top_logprobs === null) return asked ? { logprobs: true } : {};
  return { logprobs: true, top_logprobs };
}

/** What a chat's field is called here. Which item a message came from is not known any more. */
export function responseField(field: string): string {
  if (isOfMessages(field)) return "input";
  const [name = ""] = field.split(/[.[]/);
  return NAMES[name] ?? field;
}

function objectField(value: unknown, path: string): JsonObject {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" || Array.isArray(value)) throw badRequest(`\`${path}\` must be an object.`, path);
  return value as JsonObject;
}

function refuse(body: JsonObject, name: string, isHarmless: (value: unknown) => boolean): void {
  const value = body[name];
  if (value === undefined || value === null || isHarmless(value)) return;
  throw badRequest(`\`${name}\` of this kind is not served here.`, name);
}

function defined(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}
