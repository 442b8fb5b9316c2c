import {
  type Answer,
  type Choice,
  type Embeddings,
  type Piece,
  type PieceChoice,
  type Usage,
  upstreamError,
} from "./backend.ts";
import { readVectors } from "./embeddings.ts";
import { asText, readChoice, readPieceChoice, readPromptUsage, readUsage } from "./shapes.ts";
import { faultInEvent } from "./workers-ai-errors.ts";

type Json = Record<string, unknown>;

/** Reads a whole answer in either shape: OpenAI's `choices`, or the older `{response, tool_calls, usage}`. */
export function readAnswer(value: unknown, maxTokens: number): Answer {
  const result = unwrap(value);
  const usage = readUsage(result.usage);
  if (Array.isArray(result.choices) && result.choices.length > 0) {
    return { choices: result.choices.map(readChoice), usage };
  }
  if (!("response" in result) && !("tool_calls" in result)) throw upstreamError("Workers AI sent no answer.");
  return { choices: [olderChoice(result, usage, maxTokens)], usage };
}

/** Reads one event of a stream in either shape. Throws when the event reports a failure. */
export function readPiece(data: string): Piece {
  let event: Json;
  try {
    event = JSON.parse(data) as Json;
  } catch (cause) {
    throw upstreamError("Workers AI sent a broken event.", "upstream_broken", { cause });
  }
  const fault = faultInEvent(event);
  if (fault !== null) throw fault;
  const usage = readUsage(event.usage);
  if (Array.isArray(event.choices)) return { choices: event.choices.map(readPieceChoice), usage };
  return { choices: olderPiece(event), usage };
}

/** Reads `{data, usage}`, one vector for each of `count` texts. */
export function readEmbeddings(value: unknown, count: number): Embeddings {
  const result = unwrap(value);
  return { vectors: readVectors(result.data, count), usage: readPromptUsage(result.usage) };
}

/** The REST API wraps its result; the binding does not. */
function unwrap(value: unknown): Json {
  if (typeof value !== "object" || value === null) throw upstreamError("Workers AI sent no answer.");
  const { result } = value as { result?: unknown };
  return (typeof result === "object" && result !== null ? result : value) as Json;
}

/** The older shape tells no reason to stop: an answer as long as the cap was cut by it. */
function olderChoice(result: Json, usage: Usage | null, maxTokens: number): Choice {
  const calls =
    Array.isArray(result.tool_calls) && result.tool_calls.length > 0 ? result.tool_calls.map(asToolCall) : null;
  const cut = usage !== null && usage.completion_tokens >= maxTokens;
  return {
    index: 0,
    message: { role: "assistant", content: asText(result.response ?? ""), ...(calls && { tool_calls: calls }) },
    finish_reason: calls ? "tool_calls" : cut ? "length" : "stop",
  };
}

function olderPiece(event: Json): PieceChoice[] {
  const delta: Json = {};
  if (event.response !== undefined && event.response !== null) delta.content = asText(event.response);
  if (Array.isArray(event.tool_calls) && event.tool_calls.length > 0) {
    delta.tool_calls = event.tool_calls.map(asToolCallPiece);
  }
  return Object.keys(delta).length === 0 ? [] : [{ index: 0, delta, finish_reason: null }];
}

/** `{name, arguments: {...}}` of the older shape -> OpenAI's tool call. */
function asToolCall(raw: unknown, index: number): Json {
  const call = raw as Json;
  if (call.function !== undefined) return call;
  const text = typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments ?? {});
  return { id: `call_${index}`, type: "function", function: { name: String(call.name), arguments: text } };
}

/** The same in a stream, where a call may come whole, or its arguments bit by bit behind its name. */
function asToolCallPiece(raw: unknown, position: number): Json {
  const call = raw as Json;
  const index = typeof call.index === "number" ? call.index : position;
  if (call.function !== undefined) return { ...call, index };
  if (call.name === undefined || call.name === null) {
    return { index, function: { arguments: typeof call.arguments === "string" ? call.arguments : "" } };
  }
  const whole = asToolCall(call, index);
  return { ...whole, index, ...(typeof call.id === "string" && { id: call.id }) };
}
