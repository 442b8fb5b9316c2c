import { parseJsonObject } from "../chat/json-body.ts";
import { readChatRequest } from "../chat/request.ts";
import { serveStream, serveWhole } from "../chat/serve.ts";
import { ChunkWriter, completionBody } from "../chat/shapes.ts";
import { streamResponse } from "../chat/stream-body.ts";
import type { GatewayContext } from "../gateway.ts";
import { json } from "./json.ts";

/** `POST /v1/chat/completions`, in OpenAI's shape, streamed and not. */
export async function chatCompletions(c: GatewayContext): Promise<Response> {
  const { max_tokens } = c.var.gateway.config.limits;
  const request = readChatRequest(parseJsonObject(await c.var.readBody()), max_tokens);
  if (request.stream) {
    const served = await serveStream(c, request);
    return streamResponse(c, served, new ChunkWriter(served.name, request.includeUsage));
  }
  const { name, answer, usage } = await serveWhole(c, request);
  return json(c, completionBody(name, answer, usage));
}
