import type { ModelVersion } from "../config.ts";
import { ApiError, type ErrorOptions } from "../errors.ts";
import type { Ending } from "../switch.ts";
import type { Pieces } from "./pieces.ts";

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  [detail: string]: unknown;
}

/** A message in OpenAI's shape, sanitised. Fields that we don't know travel along. */
export interface Message {
  role: "system" | "user" | "assistant" | "tool";
  content: string | ContentPart[] | null;
  [field: string]: unknown;
}

export interface ContentPart {
  type: string;
  text?: string;
  [field: string]: unknown;
}

/** What every call to a backend has, whatever it asks for. */
export interface AnyCall {
  readonly version: ModelVersion;
  /** AI Gateway of the stage, if it has one. */
  readonly gateway: string | null;
  /** Aborts when the client leaves or a deadline passes. */
  readonly signal: Ending;
  /** W3C trace context to hand on. */
  readonly traceparent?: string | undefined;
  /** Whether another model answers when this one is busy: then it should say so at once, not queue. */
  readonly rejectIfBusy?: boolean | undefined;
}

/** One request to a model version: everything that shapes the answer, nothing about how it is wrapped. */
export interface Call extends AnyCall {
  readonly messages: readonly Message[];
  /** Version defaults overlaid by the client's; `max_tokens` is always there. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** Same for the turns of one conversation, so that the backend can reuse its prefix cache. */
  readonly session: string;
  /** How many messages in front are not the client's, so that a fault is named by its index. By default the prompt. */
  readonly ahead?: number | undefined;
}

/** A text, or one that is already tokens of the model. */
export type EmbedInput = string | readonly number[];

/** Texts to turn into vectors, at least one. */
export interface EmbedCall extends AnyCall {
  readonly input: readonly EmbedInput[];
  /** Length of the vectors that the client wants. Null: the model's own. */
  readonly dimensions: number | null;
}

/** One vector for each input, in the same order. `usage` is null when the backend told none. */
export interface Embeddings {
  vectors: number[][];
  usage: Usage | null;
  /** Words of the texts that the model doesn't know, where the backend tells: to it they are all the same. */
  unknown?: number | undefined;
}

export interface Choice {
  index: number;
  message: { role: "assistant"; content: string | null; [field: string]: unknown };
  finish_reason: string;
  [field: string]: unknown;
}

/** A whole answer. `usage` is null when the backend told none. */
export interface Answer {
  choices: Choice[];
  usage: Usage | null;
}

export interface PieceChoice {
  index: number;
  delta: Record<string, unknown>;
  finish_reason: string | null;
  [field: string]: unknown;
}

/** One event of a streamed answer. */
export interface Piece {
  choices: PieceChoice[];
  usage: Usage | null;
}

/** What answers. All forms throw `ApiError`; a stream that just stops is an error too, never a short answer. */
export interface Backend {
  complete(call: Call): Promise<Answer>;
  /** Resolves when the backend has accepted the call. */
  stream(call: Call): Promise<Pieces>;
  embed(call: EmbedCall): Promise<Embeddings>;
}

/** A fault of the backend, or of the way to it. */
export function upstreamError(message: string, code = "upstream_error", options: ErrorOptions = {}): ApiError {
  return new ApiError(502, code, message, options);
}
