import type { Answer, Piece, Usage } from "../backends/backend.ts";
import { DONE, type StreamFormat, sseEvent } from "../chat/format.ts";
import { type AnswerName, answerHead } from "../chat/shapes.ts";
import type { ErrorBody } from "../errors.ts";
import { textOf } from "../tokens/estimate.ts";

type Json = Record<string, unknown>;

/** OpenAI's `text_completion`; `answers[i]` answers `echoed[i]`, and each has `n` choices. */
export function textCompletionBody(
  name: AnswerName,
  answers: readonly Answer[],
  echoed: readonly string[],
  n: number,
  usage: Usage,
): Json {
  const choices = answers.flatMap((answer, prompt) =>
    answer.choices.map((choice) => ({
      index: prompt * n + choice.index,
      text: (echoed[prompt] ?? "") + textOf(choice.message.content),
      logprobs: logprobsOf(choice.logprobs, 0),
      finish_reason: choice.finish_reason,
    })),
  );
  return { ...headOf(name), choices, usage };
}

/** A stream of OpenAI's `text_completion`s. `echoed` comes before each choice's first text. */
export class TextCompletionWriter implements StreamFormat {
  readonly #head: Json;
  readonly #echoed: string;
  readonly #includeUsage: boolean;
  /** Characters sent, by choice. */
  readonly #sent = new Map<number, number>();

  constructor(name: AnswerName, echoed: string, includeUsage: boolean) {
    this.#head = headOf(name);
    this.#echoed = echoed;
    this.#includeUsage = includeUsage;
  }

  piece(piece: Piece): string {
    const choices: Json[] = [];
    for (const { index, delta, finish_reason, logprobs } of piece.choices) {
      const said = typeof delta.content === "string" ? delta.content : "";
      if (said === "" && finish_reason === null) continue;
      const before = this.#sent.get(index);
      const text = before === undefined ? this.#echoed + said : said;
      this.#sent.set(index, (before ?? 0) + text.length);
      choices.push({ index, text, logprobs: logprobsOf(logprobs, before ?? 0), finish_reason });
    }
    if (choices.length === 0) return "";
    return sseEvent({ ...this.#head, choices, ...(this.#includeUsage && { usage: null }) });
  }

  end(usage: Usage): string {
    return this.#includeUsage ? sseEvent({ ...this.#head, choices: [], usage }) + DONE : DONE;
  }

  failure(fault: ErrorBody): string {
    return sseEvent(fault);
  }
}

function headOf(name: AnswerName): Json {
  return answerHead({ ...name, id: name.id.replace(/^chatcmpl-/, "cmpl-") }, "text_completion");
}

interface TokenLogprob {
  token?: unknown;
  logprob?: unknown;
  top_logprobs?: unknown;
}

/** A chat model's logprobs in the older form: lists side by side. `offset`: characters before the first token. */
function logprobsOf(told: unknown, offset: number): Json | null {
  const content = (told as { content?: unknown } | null | undefined)?.content;
  if (!Array.isArray(content)) return null;
  const tokens = (content as (TokenLogprob | null)[]).map((entry) => entry ?? {});
  let at = offset;
  const offsets = tokens.map(({ token }) => {
    const start = at;
    at += String(token ?? "").length;
    return start;
  });
  return {
    tokens: tokens.map(({ token }) => String(token ?? "")),
    token_logprobs: tokens.map(({ logprob }) => logprob ?? null),
    top_logprobs: tokens.map(({ top_logprobs }) => alternatives(top_logprobs)),
    text_offset: offsets,
  };
}

function alternatives(told: unknown): Json {
  const list = Array.isArray(told) ? (told as (TokenLogprob | null)[]) : [];
  return Object.fromEntries(list.map((entry) => [String(entry?.token ?? ""), entry?.logprob ?? null]));
}
