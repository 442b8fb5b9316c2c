import type { Answer, Piece, Usage } from "../../backends/backend.ts";
import { type StreamFormat, sseEvent } from "../../chat/format.ts";
import type { JsonObject } from "../../chat/json-body.ts";
import type { AnswerName } from "../../chat/shapes.ts";
import type { ErrorBody } from "../../errors.ts";
import { type ResponseEvent, ResponseOutput } from "./output.ts";

/** What names a response, and the fields of the request that it repeats. */
export interface ResponseName {
  readonly id: string;
  readonly name: AnswerName;
  readonly told: JsonObject;
}

/** Reasons to stop that leave an answer incomplete, by the response's own words. */
const INCOMPLETE = new Map([
  ["length", "max_output_tokens"],
  ["content_filter", "content_filter"],
]);

/** OpenAI's `response`, of the answer's first choice. */
export function responseBody(name: ResponseName, answer: Answer, usage: Usage): JsonObject {
  const output = new ResponseOutput(stemOf(name));
  const choice = answer.choices.find(({ index }) => index === 0);
  const reason = choice?.finish_reason ?? "stop";
  if (choice !== undefined) {
    const { message, ...rest } = choice;
    output.add({ ...rest, delta: message });
  }
  output.end(INCOMPLETE.has(reason) ? "incomplete" : "completed");
  return ended(name, output, reason, usage);
}

/** The events of OpenAI's streamed responses, named and numbered. */
export class ResponseWriter implements StreamFormat {
  readonly #name: ResponseName;
  readonly #output: ResponseOutput;
  #reason = "stop";
  #sequence = 0;

  constructor(name: ResponseName) {
    this.#name = name;
    this.#output = new ResponseOutput(stemOf(name));
  }

  piece(piece: Piece): string {
    let text = this.#begin();
    for (const choice of piece.choices) {
      if (choice.index !== 0) continue;
      text += this.#write(this.#output.add(choice));
      this.#reason = choice.finish_reason ?? this.#reason;
    }
    return text;
  }

  end(usage: Usage): string {
    const cut = INCOMPLETE.has(this.#reason);
    const closing = this.#begin() + this.#write(this.#output.end(cut ? "incomplete" : "completed"));
    const response = ended(this.#name, this.#output, this.#reason, usage);
    return closing + this.#write([{ type: cut ? "response.incomplete" : "response.completed", response }]);
  }

  failure({ error }: ErrorBody): string {
    const { code, message, param } = error;
    // Flat as the API has it, and nested as its clients look for it.
    return this.#write([{ type: "error", code, message, param, error }]);
  }

  #begin(): string {
    if (this.#sequence > 0) return "";
    const response = { ...head(this.#name), status: "in_progress", output: [], usage: null };
    return this.#write([
      { type: "response.created", response },
      { type: "response.in_progress", response },
    ]);
  }

  #write(events: readonly ResponseEvent[]): string {
    return events.reduce(
      (text, { type, ...fields }) => text + sseEvent({ type, sequence_number: this.#sequence++, ...fields }, type),
      "",
    );
  }
}

function ended(name: ResponseName, output: ResponseOutput, reason: string, usage: Usage): JsonObject {
  const incomplete = INCOMPLETE.get(reason);
  return {
    ...head(name),
    status: incomplete === undefined ? "completed" : "incomplete",
    incomplete_details: incomplete === undefined ? null : { reason: incomplete },
    output: output.items,
    usage: usageOf(usage),
  };
}

function head({ id, name, told }: ResponseName): JsonObject {
  const { created, model, degraded } = name;
  return {
    id,
    object: "response",
    created_at: created,
    model,
    error: null,
    incomplete_details: null,
    ...told,
    ...(degraded !== undefined && { sluiceway: { degraded } }),
  };
}

function usageOf(usage: Usage): JsonObject {
  const { prompt_tokens, completion_tokens, total_tokens, estimated } = usage;
  return {
    input_tokens: prompt_tokens,
    input_tokens_details: { cached_tokens: detail(usage.prompt_tokens_details, "cached_tokens") },
    output_tokens: completion_tokens,
    output_tokens_details: { reasoning_tokens: detail(usage.completion_tokens_details, "reasoning_tokens") },
    total_tokens,
    ...(estimated === true && { estimated }),
  };
}

function detail(details: unknown, name: string): number {
  const value = (details as JsonObject | null | undefined)?.[name];
  return typeof value === "number" ? value : 0;
}

function stemOf({ id }: ResponseName): string {
  return id.replace(/^resp_/, "");
}
