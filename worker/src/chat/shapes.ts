import type { Answer, Piece, Usage } from "../backends/backend.ts";

/** What names an answer to the client. */
export interface AnswerName {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  /** The version that answered, `chat@1`. */
  readonly model: string;
  readonly release: string;
}

/** OpenAI's `chat.completion`. */
export function completionBody(name: AnswerName, answer: Answer, usage: Usage): Record<string, unknown> {
  const choices = answer.choices.map((choice) => ({ logprobs: null, ...choice }));
  return { ...head(name, "chat.completion"), choices, usage };
}

/** Turns pieces into OpenAI's `chat.completion.chunk`s: each choice begins with its role, and only once. */
export class ChunkWriter {
  readonly #head: Record<string, unknown>;
  readonly #started = new Set<number>();
  readonly #usageField: { usage: null } | Record<never, never>;

  constructor(name: AnswerName, includeUsage: boolean) {
    this.#head = head(name, "chat.completion.chunk");
    // With include_usage every chunk has the field, and only the last one a value.
    this.#usageField = includeUsage ? { usage: null } : {};
  }

  /** Null for a piece that has nothing for the client. */
  chunk(piece: Piece): Record<string, unknown> | null {
    if (piece.choices.length === 0) return null;
    const choices = piece.choices.map((choice) => {
      const { role: _, ...delta } = choice.delta;
      const start = this.#started.has(choice.index) ? {} : { role: "assistant" };
      this.#started.add(choice.index);
      return { logprobs: null, ...choice, delta: { ...start, ...delta } };
    });
    return { ...this.#head, choices, ...this.#usageField };
  }

  usageChunk(usage: Usage): Record<string, unknown> {
    return { ...this.#head, choices: [], usage };
  }
}

function head(name: AnswerName, object: string): Record<string, unknown> {
  return { id: name.id, object, created: name.created, model: name.model, system_fingerprint: name.release };
}
