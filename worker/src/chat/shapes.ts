import type { Answer, Piece, Usage } from "../backends/backend.ts";
import type { ErrorBody } from "../errors.ts";
import { DONE, type StreamFormat, sseEvent } from "./format.ts";

/** What names an answer to the client. */
export interface AnswerName {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  /** The version that answered, `chat@1`. */
  readonly model: string;
  readonly release: string;
  /** How the answer is less than what was asked for; the body says so too. */
  readonly degraded?: "stale" | "default";
}

/** OpenAI's `chat.completion`. */
export function completionBody(name: AnswerName, answer: Answer, usage: Usage): Record<string, unknown> {
  const choices = answer.choices.map((choice) => ({ logprobs: null, ...choice }));
  return { ...answerHead(name, "chat.completion"), choices, usage };
}

/** OpenAI's `chat.completion.chunk`s: each choice begins with its role, and only once. */
export class ChunkWriter implements StreamFormat {
  readonly #head: Record<string, unknown>;
  readonly #started = new Set<number>();
  readonly #includeUsage: boolean;

  constructor(name: AnswerName, includeUsage: boolean) {
    this.#head = answerHead(name, "chat.completion.chunk");
    this.#includeUsage = includeUsage;
  }

  piece(piece: Piece): string {
    if (piece.choices.length === 0) return "";
    const choices = piece.choices.map((choice) => {
      const { role: _, ...delta } = choice.delta;
      const start = this.#started.has(choice.index) ? {} : { role: "assistant" };
      this.#started.add(choice.index);
      return { logprobs: null, ...choice, delta: { ...start, ...delta } };
    });
    // With include_usage every chunk has the field, and only the last one a value.
    return sseEvent({ ...this.#head, choices, ...(this.#includeUsage && { usage: null }) });
  }

  end(usage: Usage): string {
    return this.#includeUsage ? sseEvent({ ...this.#head, choices: [], usage }) + DONE : DONE;
  }

  failure(fault: ErrorBody): string {
    return sseEvent(fault);
  }
}

/** What every answer of OpenAI's older APIs begins with. */
export function answerHead(name: AnswerName, object: string): Record<string, unknown> {
  const { id, created, model, release, degraded } = name;
  const mark = degraded === undefined ? {} : { sluiceway: { degraded } };
  return { id, object, created, model, system_fingerprint: release, ...mark };
}
