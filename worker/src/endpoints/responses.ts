import { named } from "../chat/field-names.ts";
import { type JsonObject, parseJsonObject } from "../chat/json-body.ts";
import { streamResponse } from "../chat/stream-body.ts";
import { talkStream, talkWhole } from "../conversation/serve.ts";
import {
  alone,
  conversationId,
  conversationsOff,
  openBranch,
  openTalk,
  shortened,
  type Talk,
} from "../conversation/talk.ts";
import { badRequest } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";
import { json } from "./json.ts";
import { type ResponseRequest, readResponseRequest, responseField } from "./responses/request.ts";
import { ResponseWriter, responseBody } from "./responses/shapes.ts";

/** `POST /v1/responses`: the part of OpenAI's newer API that its clients' main path needs, streamed and not. */
export function responses(c: GatewayContext): Promise<Response> {
  return named(responseField, () => respond(c));
}

async function respond(c: GatewayContext): Promise<Response> {
  const { ambient, config } = c.get("gateway");
  const body = parseJsonObject(await c.get("readBody")());
  const asked = readResponseRequest(body, config.limits.max_tokens);
  // Never the client's own request id: two answers would share a name.
  const id = `resp_${ambient.newId().replace(/^req-/, "")}`;
  const talk = await talkOf(c, body, asked, id);
  const told = { ...asked.told, store: talk.keep !== null };
  if (asked.request.stream) {
    const served = await talkStream(c, talk);
    return streamResponse(c, served, new ResponseWriter({ id, name: served.name, told }));
  }
  const { name, answer, usage } = await talkWhole(c, talk);
  return json(c, responseBody({ id, name, told }, answer, usage));
}

/** What the response goes on from, and what may go on from it. */
async function talkOf(c: GatewayContext, body: JsonObject, asked: ResponseRequest, to: string): Promise<Talk> {
  const { instructions, previous: from, store } = asked;
  const conversation = conversationId(c, body);
  const request = shortened(c, body, asked.request, instructions);
  if (conversation !== null && from !== null) {
    throw badRequest("`previous_response_id` and `conversation` exclude each other.", "previous_response_id");
  }
  if (conversation !== null) return openTalk(c, conversation, request, instructions);
  const { enabled } = c.get("gateway").config.conversations;
  if (from !== null && !enabled) throw conversationsOff("previous_response_id");
  if (from === null && !(store && enabled)) return alone(request, instructions);
  const talk = await openBranch(c, { from, to }, request, instructions);
  return store ? talk : { request: talk.request, keep: null };
}
