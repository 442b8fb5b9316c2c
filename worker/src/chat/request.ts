import type { Message } from "../backends/backend.ts";
import { badRequest } from "../errors.ts";
import type { JsonObject } from "./json-body.ts";
import { readMessages } from "./messages.ts";
import { readParameters } from "./parameters.ts";

/** A chat request, checked: what every endpoint that talks to a chat model makes of its body. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly Message[];
  readonly parameters: JsonObject;
  /** The caller's own name of its user, if it told one. */
  readonly user: string | null;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Everything that shapes the answer, as the client sent it: what an exact cache must tell apart. */
  readonly identity: JsonObject;
  /** What the client sent was judged before its history was added, which was accepted when it was sent. */
  readonly judged?: boolean;
}

/** Fields that only say who asks, which model (the route tells it better), or how the answer is wrapped. */
const NOT_IDENTITY = ["model", "user", "stream", "stream_options", "conversation", "truncation"];

/** Reads the body of `POST /v1/chat/completions`. Throws a 400 that names the first field at fault. */
export function readChatRequest(body: JsonObject, maxTokens: number): ChatRequest {
  if (typeof body.model !== "string" || body.model === "") {
    throw badRequest("`model` is missing: name a model, such as `chat`.", "model");
  }
  const messages = readMessages(body.messages);
  return {
    model: body.model,
    messages,
    parameters: readParameters(body, maxTokens),
    user: readUser(body.user),
    stream: readFlag(body.stream, "stream"),
    includeUsage: readIncludeUsage(body.stream_options),
    identity: { ...without(body, NOT_IDENTITY), messages },
  };
}

function readUser(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== "string") throw badRequest("`user` must be a string.", "user");
  return value === "" ? null : value.toWellFormed();
}

function readFlag(value: unknown, name: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value !== "boolean") throw badRequest(`\`${name}\` must be true or false.`, name);
  return value;
}

function readIncludeUsage(options: unknown): boolean {
  if (options === undefined || options === null) return false;
  if (typeof options !== "object") throw badRequest("`stream_options` must be an object.", "stream_options");
  return readFlag((options as JsonObject).include_usage, "stream_options.include_usage");
}

function without(body: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));
}
