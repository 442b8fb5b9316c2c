import { ApiError } from "../errors.ts";
import { native } from "../switch.ts";
import { type EmbedCall, type Embeddings, upstreamError } from "./backend.ts";
import { checkDimensions, readVectors, textsOnly } from "./embeddings.ts";
import { NotServed } from "./not-served.ts";

/** Tokens of a text that an encoder reads, where its version states no window. */
const WINDOW = 256;

interface Told {
  readonly vectors?: unknown;
  readonly tokens?: number;
  readonly unknown?: number;
  readonly error?: { readonly code?: string; readonly message?: string };
}

/** An encoder in the inference Worker, which finds the version's files in R2 by their digests. */
export class Onnx extends NotServed {
  readonly #inference: Fetcher;

  constructor(inference: Fetcher) {
    super("onnx");
    this.#inference = inference;
  }

  override async embed(call: EmbedCall): Promise<Embeddings> {
    const texts = textsOnly(call);
    const { artifact, context_window } = call.version;
    const body = JSON.stringify({ files: artifact?.files, texts, max_tokens: context_window ?? WINDOW });
    const told = await this.#ask({ method: "POST", body, signal: native(call.signal) });
    const vectors = readVectors(told.vectors, texts.length);
    checkDimensions(call, vectors);
    const tokens = told.tokens ?? 0;
    const usage = { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens };
    return { vectors, usage, unknown: told.unknown };
  }

  async #ask(request: RequestInit): Promise<Told> {
    let response: Response;
    let told: Told;
    try {
      response = await this.#inference.fetch("http://inference/embed", request);
      told = await response.json();
    } catch (cause) {
      throw upstreamError("The inference Worker did not answer.", "upstream_unreachable", { cause });
    }
    if (response.ok) return told;
    const cause = new Error(`${response.status} ${told.error?.code}: ${told.error?.message}`);
    if (response.status === 413)
      throw new ApiError(400, "context_length_exceeded", told.error?.message ?? "", { param: "input" });
    if (response.status === 429)
      throw new ApiError(429, "upstream_rate_limited", "The inference Worker takes no more requests now.", { cause });
    // Files that are missing or damaged stay so until somebody publishes them.
    const lasting = response.status < 500;
    throw upstreamError("The inference Worker can't run this model.", "upstream_refused", { cause, lasting });
  }
}
