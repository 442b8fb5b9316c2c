import type { Choice, PieceChoice, Usage } from "./backend.ts";

type Json = Record<string, unknown>;

/**
 * A choice of a whole answer in OpenAI's shape. Fields that we don't know (logprobs, reasoning) travel along. Throws for
 * one that says nothing at all, which must not pass for an empty answer.
 */
export function readChoice(raw: unknown, position: number): Choice {
  const { message, index, finish_reason, ...rest } = asObject(raw);
  const said = asObject(message);
  return {
    ...rest,
    index: typeof index === "number" ? index : position,
    message: { ...said, role: "assistant", content: contentOf(said.content) },
    finish_reason: reasonOf(finish_reason) ?? "stop",
  };
}

/** A choice of one event of a stream in OpenAI's shape: what was parsed, made good in place. */
export function readPieceChoice(raw: unknown, position: number): PieceChoice {
  const choice = asObject(raw);
  const delta = asObject(choice.delta ?? {});
  if (delta.content !== undefined) delta.content = contentOf(delta.content);
  choice.delta = delta;
  if (typeof choice.index !== "number") choice.index = position;
  choice.finish_reason = reasonOf(choice.finish_reason);
  return choice as PieceChoice;
}

function asObject(value: unknown): Json {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  throw new TypeError("an object was expected");
}

/** What is said, as text. Some servers send it in parts, of which those that aren't text are the model's thoughts. */
function contentOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return null;
  if (!Array.isArray(value) || !value.every(isPart)) return asText(value);
  return value.map((part) => (part.type === "text" && typeof part.text === "string" ? part.text : "")).join("");
}

function isPart(value: unknown): value is { type: string; text?: unknown } {
  return typeof (value as { type?: unknown } | null)?.type === "string";
}

/** Some servers say "" for an answer that goes on. */
function reasonOf(raw: unknown): string | null {
  return typeof raw === "string" && raw !== "" ? raw : null;
}

/** Some models send a number for a token that is one, and an object in JSON mode. */
export function asText(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Tokens in OpenAI's names, or null when there are none. */
export function readUsage(raw: unknown): Usage | null {
  if (typeof raw !== "object" || raw === null) return null;
  const { prompt_tokens: asked, completion_tokens: said } = raw as Json;
  if (!isCount(asked) || !isCount(said)) return null;
  return {
    ...raw,
    ...cachedOf(raw as Json),
    prompt_tokens: asked,
    completion_tokens: said,
    total_tokens: asked + said,
  };
}

/** Tokens that a prompt cache spared: Moonshot and DeepSeek tell them beside OpenAI's field, and they cost less. */
function cachedOf(raw: Json): Json {
  const cached = raw.cached_tokens ?? raw.prompt_cache_hit_tokens;
  const details = (raw.prompt_tokens_details ?? {}) as Json;
  if (!isCount(cached) || details.cached_tokens !== undefined) return {};
  return { prompt_tokens_details: { ...details, cached_tokens: cached } };
}

/** A count below nothing would give money back. */
function isCount(value: unknown): value is number {
  return typeof value === "number" && value >= 0;
}

/** Tokens of an embedding, whose answer has no completion. */
export function readPromptUsage(raw: unknown): Usage | null {
  if (typeof raw !== "object" || raw === null) return null;
  const { prompt_tokens: asked, total_tokens: all } = raw as Json;
  const read = asked ?? all;
  return isCount(read) ? { prompt_tokens: read, completion_tokens: 0, total_tokens: read } : null;
}
