import type { Message } from "../backends/backend.ts";
import type { ModelVersion } from "../config.ts";
import { ApiError } from "../errors.ts";
import { estimatePrompt, estimateTokens } from "./estimate.ts";

/**
 * How many tokens the answer may have: as many as were asked for, or what the version's window leaves beside the prompt.
 * Refuses a prompt that leaves nothing, by a 400 `context_length_exceeded` with the numbers. `tools` are the request's
 * declarations, which count as prompt.
 */
export function checkWindow(
  spec: ModelVersion,
  messages: readonly Message[],
  maxTokens: number,
  tools?: unknown,
): number {
  const window = spec.context_window;
  if (window === null || window === undefined) return maxTokens;
  const declared = tools === undefined ? 0 : estimateTokens(JSON.stringify(tools));
  const prompt = estimatePrompt(messages) + declared;
  if (prompt >= window) throw tooLong(prompt, window);
  return Math.min(maxTokens, window - prompt);
}

/** The backend would refuse it each time, so nobody is to try it again. */
function tooLong(prompt: number, window: number): ApiError {
  const message = `This model's context is ${window} tokens at most; the messages are about ${prompt}. Shorten them.`;
  return new ApiError(400, "context_length_exceeded", message, { param: "messages", lasting: true });
}
