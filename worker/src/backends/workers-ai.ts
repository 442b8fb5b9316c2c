import { native } from "../switch.ts";
import {
  type Answer,
  type AnyCall,
  type Backend,
  type Call,
  type EmbedCall,
  type Embeddings,
  type Usage,
  upstreamError,
} from "./backend.ts";
import { checkDimensions, textsOnly } from "./embeddings.ts";
import { plainMessages } from "./messages.ts";
import type { Pieces } from "./pieces.ts";
import { PieceStream } from "./stream.ts";
import { readWhole } from "./whole.ts";
import { refusal, thrown } from "./workers-ai-errors.ts";
import { readAnswer, readEmbeddings, readPiece } from "./workers-ai-shapes.ts";

/** The part of the AI binding that we use; the raw answer tells status and headers, which its errors don't. */
export interface AiPort {
  run(model: string, inputs: Record<string, unknown>, options: AiRunOptions): Promise<Response>;
}

export interface AiRunOptions {
  returnRawResponse: true;
  signal: AbortSignal;
  extraHeaders: Record<string, string>;
  gateway?: { id: string };
  rejectIfBusy?: boolean;
}

/** Parameters that Workers AI knows; a model's schema may refuse others. */
const PASSED = [
  ...["max_tokens", "temperature", "top_p", "top_k", "seed", "stop", "n", "frequency_penalty", "presence_penalty"],
  ...["repetition_penalty", "tools", "tool_choice", "parallel_tool_calls", "response_format", "logprobs"],
  ...["top_logprobs", "logit_bias", "reasoning_effort", "chat_template_kwargs"],
];

/** Texts that its embedding models take in one run. */
const TEXTS_A_RUN = 100;

/** `env.AI`, through the stage's AI Gateway when it has one. */
export class WorkersAi implements Backend {
  readonly #ai: AiPort;

  constructor(ai: AiPort) {
    this.#ai = ai;
  }

  async complete(call: Call): Promise<Answer> {
    const response = await this.#chat(call, {});
    return readWhole(call, response, (value) => readAnswer(value, Number(call.parameters.max_tokens)));
  }

  async stream(call: Call): Promise<Pieces> {
    const response = await this.#chat(call, { stream: true, stream_options: { include_usage: true } });
    if (response.body === null) throw upstreamError("Workers AI sent no stream.");
    return new PieceStream(response.body, call, readPiece);
  }

  async embed(call: EmbedCall): Promise<Embeddings> {
    const texts = textsOnly(call);
    const vectors: number[][] = [];
    let usage: Usage | null = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
    for (let at = 0; at < texts.length; at += TEXTS_A_RUN) {
      const text = texts.slice(at, at + TEXTS_A_RUN);
      const response = await this.#run(call, { text }, {});
      const part = await readWhole(call, response, (value) => readEmbeddings(value, text.length));
      checkDimensions(call, part.vectors);
      vectors.push(...part.vectors);
      usage = sum(usage, part.usage);
    }
    return { vectors, usage };
  }

  async #chat(call: Call, extra: Record<string, unknown>): Promise<Response> {
    const inputs: Record<string, unknown> = { messages: plainMessages(call), ...extra };
    for (const name of PASSED) {
      if (call.parameters[name] !== undefined) inputs[name] = call.parameters[name];
    }
    if (call.version.lora) inputs.lora = call.version.lora;
    return this.#run(call, inputs, { "x-session-affinity": call.session });
  }

  async #run(call: AnyCall, inputs: Record<string, unknown>, headers: Record<string, string>): Promise<Response> {
    if (call.traceparent !== undefined) headers.traceparent = call.traceparent;
    const options: AiRunOptions = {
      returnRawResponse: true,
      signal: native(call.signal),
      extraHeaders: headers,
      ...(call.gateway !== null && { gateway: { id: call.gateway } }),
      ...(call.rejectIfBusy === true && { rejectIfBusy: true }),
    };
    let response: Response;
    try {
      response = await this.#ai.run(call.version.id ?? "", inputs, options);
    } catch (error) {
      call.signal.throwIfAborted();
      throw thrown(error);
    }
    if (response.ok) return response;
    throw refusal(response.status, await response.text().catch(() => ""), response.headers);
  }
}

/** Null once one of them is: a sum with a gap would be too low. */
function sum(left: Usage | null, right: Usage | null): Usage | null {
  if (left === null || right === null) return null;
  const read = left.prompt_tokens + right.prompt_tokens;
  return { prompt_tokens: read, completion_tokens: 0, total_tokens: read };
}
