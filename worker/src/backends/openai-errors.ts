import { ApiError, type ErrorOptions } from "../errors.ts";
import { upstreamError } from "./backend.ts";
import { faultOf, readFault, retryAfter, tellsFault } from "./faults.ts";

/** How servers say that a prompt is too long: OpenAI's code, and the words of vLLM, llama.cpp, Anthropic and others. */
const TOO_LONG = /context[ _](length|window|size)|prompt is too long|too many (input )?tokens/i;

/**
 * Our error for a refusal by an OpenAI-compatible server. Its words reach the client only where they are about the
 * request: those about keys, names of models and its own inside stay in the cause, for the log.
 */
export function refusal(status: number, body: string, headers: Headers): ApiError {
  const fault = readFault(body);
  const cause = new Error(`${status} ${fault.code ?? ""}: ${fault.text}`);
  const told = `The model's server refused the request: ${fault.text}`;
  const options: ErrorOptions = { cause, ...paramOf(fault.param) };
  if (status === 429) {
    const spent = fault.code === "insufficient_quota";
    const code = spent ? "upstream_quota_exceeded" : "upstream_rate_limited";
    const again = { cause, lasting: spent, headers: retryAfter(headers) };
    return new ApiError(429, code, "The model's server takes no more requests now.", again);
  }
  if (status === 400 || status === 413 || status === 422) {
    // A body that passed our own cap is too large for a model by its prompt.
    if (status === 413 || fault.code === "context_length_exceeded" || TOO_LONG.test(fault.text)) {
      return new ApiError(400, "context_length_exceeded", told, options);
    }
    if (fault.code !== "model_not_found") return new ApiError(status, "invalid_request", told, options);
  }
  if (status === 408 || status === 504 || status === 524) {
    return new ApiError(504, "upstream_timeout", "The model's server took too long.", { cause });
  }
  if (status < 500) {
    const lasting = { cause, lasting: true };
    return upstreamError(`The model's server refused us (${status}).`, "upstream_refused", lasting);
  }
  const busy = status === 503 || status === 529;
  return new ApiError(busy ? 503 : 502, "upstream_error", `The model's server failed (${status}).`, { cause });
}

/** The client's own field, but for its messages, whose places we may have moved. */
function paramOf(param: string | null): { param?: string } {
  return param === null || param.startsWith("messages") ? {} : { param };
}

/** Our error for a failure inside an answer that began well, or null when there is none. */
export function faultInside(value: Record<string, unknown>): ApiError | null {
  if (!tellsFault(value)) return null;
  const cause = new Error(faultOf(value).text);
  return upstreamError("The model's server broke off the answer.", "upstream_broken", { cause });
}
