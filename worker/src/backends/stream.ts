import { ApiError } from "../errors.ts";
import type { Call, Piece } from "./backend.ts";
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
    for await (const data of decodeEvents(body, call.signal)) {
      if (data === "[DONE]") {
        const last = progress.closing();
        if (last !== null) yield last;
        return;
      }
      const piece = read(data);
      progress.note(piece);
      yield piece;
    }
  } catch (error) {
    call.signal.throwIfAborted();
    throw error instanceof ApiError ? error : broken(error);
  }
  if (!progress.finished) throw broken(undefined);
}

/** How far a stream has come, to tell an answer that ended from one that broke off. */
class Progress {
  readonly #open = new Set<number>();
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

  note(piece: Piece): void {
    for (const choice of piece.choices) {
      this.#said = true;
      if (choice.delta.tool_calls !== undefined) this.#calledTools = true;
      if (choice.finish_reason === null) this.#open.add(choice.index);
      else this.#open.delete(choice.index);
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
