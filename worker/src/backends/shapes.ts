import type { Choice, PieceChoice, Usage } from "./backend.ts";

type Json = Record<string, unknown>;

/** A choice of a whole answer in OpenAI's shape. Fields that we don't know (logprobs, reasoning) travel along. */
export function readChoice(raw: unknown, position: number): Choice {
  const { message, index, finish_reason, ...rest } = raw as Json;
  const said = (message ?? {}) as Json;
  const content = said.content === undefined || said.content === null ? null : asText(said.content);
  return {
    ...rest,
    index: typeof index === "number" ? index : position,
    message: { ...said, role: "assistant", content },
    finish_reason: reasonOf(finish_reason) ?? "stop",
  };
}

/** A choice of one event of a stream in OpenAI's shape. */
export function readPieceChoice(raw: unknown, position: number): PieceChoice {
  const { delta, index, finish_reason, ...rest } = raw as Json;
  return {
    ...rest,
    index: typeof index === "number" ? index : position,
    delta: { ...((delta ?? {}) as Json) },
    finish_reason: reasonOf(finish_reason),
  };
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
  if (typeof asked !== "number" || typeof said !== "number") return null;
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
  if (typeof cached !== "number" || details.cached_tokens !== undefined) return {};
  return { prompt_tokens_details: { ...details, cached_tokens: cached } };
}

/** Tokens of an embedding, whose answer has no completion. */
export function readPromptUsage(raw: unknown): Usage | null {
  if (typeof raw !== "object" || raw === null) return null;
  const { prompt_tokens: asked, total_tokens: all } = raw as Json;
  const read = typeof asked === "number" ? asked : all;
  return typeof read === "number" ? { prompt_tokens: read, completion_tokens: 0, total_tokens: read } : null;
}
