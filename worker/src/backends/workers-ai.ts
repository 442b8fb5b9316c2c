import { ApiError } from "../errors.ts";
import { type Answer, type Backend, type Call, type Embeddings, type Piece, upstreamError } from "./backend.ts";
import { decodeEvents } from "./sse.ts";
import { refusal, thrown } from "./workers-ai-errors.ts";
import { forWorkersAi } from "./workers-ai-messages.ts";
import { readAnswer, readPiece } from "./workers-ai-shapes.ts";

/** The part of the AI binding that we use; the raw answer tells status and headers, which its errors don't. */
export interface AiPort {
  run(model: string, inputs: Record<string, unknown>, options: AiRunOptions): Promise<Response>;
}

export interface AiRunOptions {
  returnRawResponse: true;
  signal: AbortSignal;
  extraHeaders: Record<string, string>;
  gateway?: { id: string };
}

/** Parameters that Workers AI knows; a model's schema may refuse others. */
const PASSED = [
  ...["max_tokens", "temperature", "top_p", "top_k", "seed", "stop", "n", "frequency_penalty", "presence_penalty"],
  ...["repetition_penalty", "tools", "tool_choice", "parallel_tool_calls", "response_format", "logprobs"],
  ...["top_logprobs", "logit_bias", "reasoning_effort", "chat_template_kwargs"],
];

/** `env.AI`, through the stage's AI Gateway when it has one. */
export class WorkersAi implements Backend {
  readonly #ai: AiPort;

  constructor(ai: AiPort) {
    this.#ai = ai;
  }

  async complete(call: Call): Promise<Answer> {
    const response = await this.#run(call, {});
    try {
      return readAnswer(await response.json(), Number(call.parameters.max_tokens));
    } catch (error) {
      call.signal.throwIfAborted();
      throw error instanceof ApiError ? error : broken(error);
    }
  }

  async stream(call: Call): Promise<AsyncGenerator<Piece, void, undefined>> {
    const response = await this.#run(call, { stream: true, stream_options: { include_usage: true } });
    if (response.body === null) throw upstreamError("Workers AI sent no stream.");
    return pieces(response.body, call);
  }

  async embed(): Promise<Embeddings> {
    throw new ApiError(501, "embeddings_not_served", "This model turns no texts into vectors yet.", { param: "model" });
  }

  async #run(call: Call, extra: Record<string, unknown>): Promise<Response> {
    const inputs: Record<string, unknown> = { messages: forWorkersAi(call.messages, ownMessages(call)), ...extra };
    for (const name of PASSED) {
      if (call.parameters[name] !== undefined) inputs[name] = call.parameters[name];
    }
    const options: AiRunOptions = {
      returnRawResponse: true,
      signal: call.signal,
      extraHeaders: { "x-session-affinity": call.session },
      ...(call.gateway !== null && { gateway: { id: call.gateway } }),
    };
    let response: Response;
    try {
      response = await this.#ai.run(call.version.id ?? "", inputs, options);
    } catch (error) {
      call.signal.throwIfAborted();
      throw thrown(error);
    }
    if (response.ok) return response;
    throw refusal(response.status, await response.text().catch(() => ""), response.headers.get("retry-after"));
  }
}

/** How many messages in front are the version's own, so that a fault is named by the client's index. */
function ownMessages(call: Call): number {
  return call.version.prompt ? 1 : 0;
}

async function* pieces(body: ReadableStream<Uint8Array>, call: Call): AsyncGenerator<Piece, void, undefined> {
  const progress = new Progress(Number(call.parameters.max_tokens));
  try {
    for await (const data of decodeEvents(body, call.signal)) {
      if (data === "[DONE]") {
        const last = progress.closing();
        if (last !== null) yield last;
        return;
      }
      const piece = readPiece(data);
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
    if (this.#anyFinished) throw broken(undefined);
    const cut = this.#completionTokens >= this.#maxTokens;
    const reason = this.#calledTools ? "tool_calls" : cut ? "length" : "stop";
    return { choices: [{ index: 0, delta: {}, finish_reason: reason }], usage: null };
  }
}

function broken(cause: unknown): ApiError {
  return upstreamError("The model's answer broke off.", "upstream_broken", { cause });
}
