import { type Answer, type Embeddings, type Piece, upstreamError } from "./backend.ts";
import { readVectors } from "./embeddings.ts";
import { faultInside } from "./openai-errors.ts";
import { readChoice, readPieceChoice, readPromptUsage, readUsage } from "./shapes.ts";

type Json = Record<string, unknown>;

/** Reads a `chat.completion`. Throws for a failure that came with a 200, as some proxies send them. */
export function readAnswer(value: unknown): Answer {
  const answer = good(value);
  const choices = answer.choices;
  if (!Array.isArray(choices) || choices.length === 0) throw upstreamError("The model's server sent no answer.");
  return { choices: choices.map(readChoice), usage: readUsage(answer.usage) };
}

/** Reads one `chat.completion.chunk`; one without choices tells usage, or what a filter found. */
export function readPiece(data: string): Piece {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (cause) {
    throw upstreamError("The model's server sent a broken event.", "upstream_broken", { cause });
  }
  const event = good(value);
  const choices = Array.isArray(event.choices) ? event.choices.map(readPieceChoice) : [];
  return { choices, usage: readUsage(event.usage) };
}

/** Reads a list of embeddings, which may come in any order, one for each of `count` inputs. */
export function readEmbeddings(value: unknown, count: number): Embeddings {
  const { data, usage } = good(value);
  const items = Array.isArray(data) ? (data as { index?: unknown; embedding?: unknown }[]) : [];
  const vectors: unknown[] = new Array(items.length).fill(null);
  items.forEach((item, position) => {
    vectors[typeof item.index === "number" ? item.index : position] = item.embedding;
  });
  return { vectors: readVectors(vectors, count), usage: readPromptUsage(usage) };
}

function good(value: unknown): Json {
  if (typeof value !== "object" || value === null) throw upstreamError("The model's server sent no answer.");
  const fault = faultInside(value as Json);
  if (fault !== null) throw fault;
  return value as Json;
}
