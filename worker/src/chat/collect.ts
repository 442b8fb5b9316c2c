import type { Answer, Choice, Piece, PieceChoice, Usage } from "../backends/backend.ts";

type Json = Record<string, unknown>;

/** Folds the pieces of a streamed answer into the whole one. */
export class Collector {
  readonly #choices = new Map<number, Choice>();
  #usage: Usage | null = null;

  add(piece: Piece): void {
    if (piece.usage !== null) this.#usage = piece.usage;
    for (const choice of piece.choices) this.#fold(choice);
  }

  /** The answer so far. */
  answer(): Answer {
    const choices = [...this.#choices.values()].sort((left, right) => left.index - right.index);
    return { choices, usage: this.#usage };
  }

  #fold(piece: PieceChoice): void {
    const { index, delta, finish_reason, ...rest } = piece;
    let choice = this.#choices.get(index);
    if (choice === undefined) {
      choice = { index, message: { role: "assistant", content: null }, finish_reason: "" };
      this.#choices.set(index, choice);
    }
    for (const [name, value] of Object.entries(delta)) {
      if (name === "role" || value === null || value === undefined) continue;
      choice.message[name] =
        name === "tool_calls" ? foldCalls(choice.message[name], value) : join(choice.message[name], value);
    }
    if (finish_reason !== null) choice.finish_reason = finish_reason;
    for (const [name, value] of Object.entries(rest)) choice[name] = joinLogprobs(choice[name], value);
  }
}

function join(before: unknown, value: unknown): unknown {
  if (typeof value === "string") return typeof before === "string" ? before + value : value;
  return Array.isArray(value) ? grown(before, value) : value;
}

/**
 * The list with more at its end: the same list, as copying all of it for each piece would take time by the square of the
 * answer's length. The first part is copied, since the piece is not ours.
 */
function grown(before: unknown, more: readonly unknown[]): unknown[] {
  if (!Array.isArray(before)) return [...more];
  for (const item of more) before.push(item);
  return before;
}

/** `{content: [...]}` grows; anything else is as last told. */
function joinLogprobs(before: unknown, value: unknown): unknown {
  if (value === null || value === undefined) return before ?? value;
  const { content } = value as { content?: unknown };
  if (!Array.isArray(content)) return value;
  return { ...(value as Json), content: grown((before as { content?: unknown } | null | undefined)?.content, content) };
}

/** A list with one call at a place far out would be as long as that place is far. */
const MOST_CALLS = 1_024;

function isPlace(index: unknown): index is number {
  return Number.isInteger(index) && (index as number) >= 0 && (index as number) < MOST_CALLS;
}

/** Tool calls come in parts: the first names the call, later ones append to its arguments. */
function foldCalls(before: unknown, parts: unknown): Json[] {
  const calls = Array.isArray(before) ? (before as Json[]) : [];
  for (const part of parts as Json[]) {
    const { index, function: wanted, ...rest } = part;
    const at = isPlace(index) ? index : calls.length;
    const known = (calls[at] ?? { function: {} }) as Json;
    const merged = { ...(known.function as Json) };
    for (const [name, value] of Object.entries((wanted ?? {}) as Json)) {
      if (value !== null) merged[name] = name === "arguments" ? join(merged[name], value) : value;
    }
    calls[at] = { ...known, ...rest, function: merged };
  }
  return calls;
}
