import type { ChatRequest } from "../chat/request.ts";
import type { GatewayContext } from "../gateway.ts";

/** Looks a request over before anything is spent on it; gives what goes on. Throws the 400 of a refused prompt. */
export function guardPrompt(_c: GatewayContext, request: ChatRequest): ChatRequest {
  return request;
}
