import { ApiError } from "../errors.ts";
import { native } from "../switch.ts";
import {
  type Answer,
  type AnyCall,
  type Backend,
  type Call,
  type EmbedCall,
  type Embeddings,
  upstreamError,
} from "./backend.ts";
import { checkDimensions } from "./embeddings.ts";
import { plainMessages } from "./messages.ts";
import { refusal } from "./openai-errors.ts";
import { readAnswer, readEmbeddings, readPiece } from "./openai-shapes.ts";
import type { Pieces } from "./pieces.ts";
import { PieceStream } from "./stream.ts";
import { readWhole } from "./whole.ts";

/** What the backend needs of the platform. */
export interface OpenAiPorts {
  fetch(url: string, init: RequestInit): Promise<Response>;
  /** `env.AI.gateway`: its requests need no key of the gateway's, and no look-up of its URL. */
  gateway(id: string): GatewayPort;
  /** The value of a secret, by its binding's name. */
  secret(name: string): string | undefined;
}

export interface GatewayPort {
  run(request: GatewayRequest, options: { signal: AbortSignal }): Promise<Response>;
}

export interface GatewayRequest {
  provider: string;
  endpoint: string;
  headers: Record<string, string>;
  query: Record<string, unknown>;
}

/** Parameters of OpenAI's, and those that vLLM and the makers of Kimi, GLM and Qwen have added. */
const PASSED = [
  ...["max_tokens", "temperature", "top_p", "top_k", "min_p", "seed", "stop", "n", "frequency_penalty"],
  ...["presence_penalty", "repetition_penalty", "tools", "tool_choice", "parallel_tool_calls", "response_format"],
  ...["logprobs", "top_logprobs", "logit_bias", "reasoning_effort", "verbosity", "thinking", "enable_thinking"],
  "chat_template_kwargs",
];

/** vLLM's own ways to bind an answer to a grammar, which its server compiles: a client's may cost it more than the answer. */
const GUIDED = ["guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs"];

/** Any server that speaks OpenAI's API: vLLM on a cluster of one's own, or a provider, by fetch or by AI Gateway. */
export class OpenAi implements Backend {
  readonly #ports: OpenAiPorts;

  constructor(ports: OpenAiPorts) {
    this.#ports = ports;
  }

  async complete(call: Call): Promise<Answer> {
    const response = await this.#ask(call, "chat/completions", chatBody(call), call.session);
    return readWhole(call, response, readAnswer);
  }

  async stream(call: Call): Promise<Pieces> {
    const body = chatBody(call);
    body.stream = true;
    body.stream_options = { include_usage: true };
    const response = await this.#ask(call, "chat/completions", body, call.session);
    // A server that doesn't stream, or a proxy that reports a failure with a 200.
    if (response.body === null || isJson(response)) {
      await readWhole(call, response, readAnswer);
      throw upstreamError("The model's server sent no stream.");
    }
    return new PieceStream(response.body, call, readPiece);
  }

  async embed(call: EmbedCall): Promise<Embeddings> {
    const body: Record<string, unknown> = { model: call.version.id, input: call.input, encoding_format: "float" };
    if (call.dimensions !== null) body.dimensions = call.dimensions;
    const response = await this.#ask(call, "embeddings", body, null);
    const found = await readWhole(call, response, (value) => readEmbeddings(value, call.input.length));
    checkDimensions(call, found.vectors);
    return found;
  }

  async #ask(call: AnyCall, path: string, body: Record<string, unknown>, session: string | null): Promise<Response> {
    const headers = this.#headers(call, session);
    let response: Response;
    try {
      response = await this.#send(call, path, headers, body);
    } catch (error) {
      call.signal.throwIfAborted();
      if (error instanceof ApiError) throw error;
      throw upstreamError("The model's server could not be reached.", "upstream_unreachable", { cause: error });
    }
    if (response.ok) return response;
    throw refusal(response.status, await response.text().catch(() => ""), response.headers);
  }

  #send(
    call: AnyCall,
    path: string,
    headers: Record<string, string>,
    body: Record<string, unknown>,
  ): Promise<Response> {
    const { provider, base_url: base } = call.version;
    const signal = native(call.signal);
    if (provider && call.gateway !== null) {
      const at = provider.indexOf("/");
      const name = at < 0 ? provider : provider.slice(0, at);
      const endpoint = at < 0 ? path : `${provider.slice(at + 1)}/${path}`;
      return this.#ports.gateway(call.gateway).run({ provider: name, endpoint, headers, query: body }, { signal });
    }
    if (!base) throw notConfigured("it is reached through an AI Gateway alone, which this stage has not");
    // Followed, a redirect would carry prompt and key to wherever it points.
    const init: RequestInit = { method: "POST", headers, body: JSON.stringify(body), signal, redirect: "manual" };
    return this.#ports.fetch(`${base}/${path}`, init);
  }

  #headers(call: AnyCall, session: string | null): Record<string, string> {
    const headers: Record<string, string> = { "content-type": "application/json" };
    const { secret } = call.version;
    if (secret) {
      const value = this.#ports.secret(secret);
      if (!value) throw notConfigured(`the secret \`${secret}\` is not set on this stage`);
      headers.authorization = `Bearer ${value}`;
    }
    // A router in front of a cluster may keep a conversation on the server that has its prefix in memory.
    if (session !== null) headers["x-session-affinity"] = session;
    if (call.traceparent !== undefined) headers.traceparent = call.traceparent;
    return headers;
  }
}

function chatBody(call: Call): Record<string, unknown> {
  const body: Record<string, unknown> = { model: call.version.id, messages: plainMessages(call) };
  for (const name of call.version.guided === true ? [...PASSED, ...GUIDED] : PASSED) {
    if (call.parameters[name] !== undefined) body[name] = call.parameters[name];
  }
  if (isOpenAi(call.version)) {
    // OpenAI's own reasoning models refuse the older name, which is the one that the others know.
    body.max_completion_tokens = body.max_tokens;
    delete body.max_tokens;
  }
  return body;
}

function isOpenAi({ provider, base_url: base }: Call["version"]): boolean {
  return base?.startsWith("https://api.openai.com/") === true || provider === "openai";
}

function isJson(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("application/json") === true;
}

function notConfigured(why: string): ApiError {
  return new ApiError(503, "backend_not_configured", `This model can't be asked: ${why}.`, {
    param: "model",
    lasting: true,
  });
}
