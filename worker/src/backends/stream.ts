import { ApiError } from "../errors.ts";
import type { Call, Piece, PieceChoice } from "./backend.ts";
import { decodeEvents } from "./sse.ts";
import { broken } from "./whole.ts";

/** The pieces of a stream of events, each read by `read`. Throws for one that ends before its answer does. */
export async function* pieces(
  body: ReadableStream<Uint8Array>,
  call: Call,
  read: (data: string) => Piece,
): AsyncGenerator<Piece, void, undefined> {
  const progress = new Progress(Number(call.parameters.max_tokens));
  try {
    for await (const events of decodeEvents(body, call.signal)) {
      const batch = readBatch(events, read, progress);
      for (const piece of batch.pieces) yield piece;
      if (batch.fault !== null) throw batch.fault.reason;
      if (batch.done) return;
    }
  } catch (error) {
    call.signal.throwIfAborted();
    // All was said: what the connection lost is the usage at most, and nobody may be told both an end and an error.
    if (!(error instanceof ApiError) && progress.hasEnded(Number(call.parameters.n ?? 1))) return;
    throw error instanceof ApiError ? error : broken(error);
  }
  if (!progress.finished) throw broken(undefined);
}

interface Batch {
  readonly pieces: Piece[];
  /** Whether the last event of the answer was among them. */
  readonly done: boolean;
  /** What is wrong with an event; those before it count. */
  readonly fault: { readonly reason: unknown } | null;
}

/** Reads the events that came together. Words that follow each other become one piece: the client gets them at once. */
function readBatch(events: readonly string[], read: (data: string) => Piece, progress: Progress): Batch {
  const pieces: Piece[] = [];
  try {
    for (const data of events) {
      if (data === "[DONE]") {
        const last = progress.closing();
        if (last !== null) pieces.push(last);
        return { pieces, done: true, fault: null };
      }
      const piece = read(data);
      progress.note(piece);
      const before = pieces.at(-1);
      if (before === undefined || !extend(before, piece)) pieces.push(piece);
    }
    return { pieces, done: false, fault: null };
  } catch (reason) {
    return { pieces, done: false, fault: { reason } };
  }
}

/** Adds the text of `next` to that of `before`, when both only say some; else false, and nothing is changed. */
function extend(before: Piece, next: Piece): boolean {
  const said = onlyText(next);
  const first = before.choices[0];
  if (said === null || onlyText(before)?.field !== said.field || first?.index !== next.choices[0]?.index) return false;
  (first as PieceChoice).delta[said.field] += said.text;
  return true;
}

/** The one field of text that a piece says, or null for a piece that says anything else. */
function onlyText({ choices, usage }: Piece): { field: string; text: string } | null {
  const [choice] = choices;
  if (usage !== null || choice === undefined || choices.length > 1 || choice.finish_reason !== null) return null;
  let found: { field: string; text: string } | null = null;
  for (const field in choice.delta) {
    const text = choice.delta[field];
    if (field === "role" || text === null) continue;
    if (found !== null || typeof text !== "string") return null;
    found = { field, text };
  }
  for (const field in choice) {
    if (field !== "index" && field !== "delta" && choice[field] !== null) return null;
  }
  return found;
}

/** How far a stream has come, to tell an answer that ended from one that broke off. */
class Progress {
  readonly #open = new Set<number>();
  readonly #ended = new Set<number>();
  readonly #maxTokens: number;
  #anyFinished = false;
  #said = false;
  #calledTools = false;
  #completionTokens = 0;

  constructor(maxTokens: number) {
    this.#maxTokens = maxTokens;
  }

  get finished(): boolean {
    return this.#anyFinished && this.#open.size === 0;
  }

  /** Whether each of so many choices has come to its end. */
  hasEnded(choices: number): boolean {
    return this.#open.size === 0 && this.#ended.size >= choices;
  }

  note(piece: Piece): void {
    for (const choice of piece.choices) {
      this.#said = true;
      if (choice.delta.tool_calls !== undefined) this.#calledTools = true;
      if (choice.finish_reason === null) this.#open.add(choice.index);
      else {
        this.#open.delete(choice.index);
        this.#ended.add(choice.index);
      }
      this.#anyFinished ||= choice.finish_reason !== null;
    }
    this.#completionTokens = piece.usage?.completion_tokens ?? this.#completionTokens;
  }

  /** The older shape tells the end by `[DONE]` alone: the piece that says why it ended, or null when one was sent. */
  closing(): Piece | null {
    if (this.finished) return null;
    if (this.#anyFinished || !this.#said) throw broken(undefined);
    const cut = this.#completionTokens >= this.#maxTokens;
    const reason = this.#calledTools ? "tool_calls" : cut ? "length" : "stop";
    return { choices: [{ index: 0, delta: {}, finish_reason: reason }], usage: null };
  }
}
