import { parseJsonObject } from "../chat/json-body.ts";
import { readChatRequest } from "../chat/request.ts";
import { ChunkWriter, completionBody } from "../chat/shapes.ts";
import { streamResponse } from "../chat/stream-body.ts";
import { talkFor, talkStream, talkWhole } from "../conversation/serve.ts";
import type { GatewayContext } from "../gateway.ts";
import { json } from "./json.ts";

/** `POST /v1/chat/completions`, in OpenAI's shape, streamed and not. */
export async function chatCompletions(c: GatewayContext): Promise<Response> {
  const { max_tokens } = c.get("gateway").config.limits;
  const body = parseJsonObject(await c.get("readBody")());
  const request = readChatRequest(body, max_tokens);
  const talk = await talkFor(c, body, request);
  if (request.stream) {
    const served = await talkStream(c, talk);
    return streamResponse(c, served, new ChunkWriter(served.name, request.includeUsage));
  }
  const { name, answer, usage } = await talkWhole(c, talk);
  return json(c, completionBody(name, answer, usage));
}
