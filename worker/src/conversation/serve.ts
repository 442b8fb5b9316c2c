import type { Piece } from "../backends/backend.ts";
import { Collector } from "../chat/collect.ts";
import type { JsonObject } from "../chat/json-body.ts";
import type { ChatRequest } from "../chat/request.ts";
import { type ServedStream, type ServedWhole, serveStream, serveWhole } from "../chat/serve.ts";
import type { GatewayContext } from "../gateway.ts";
import { conversationId, openTalk, type Talk } from "./talk.ts";

/** Serves a request, within its conversation when `body` or a header names one. */
export async function answerWhole(c: GatewayContext, body: JsonObject, request: ChatRequest): Promise<ServedWhole> {
  const id = conversationId(c, body);
  return id === null ? serveWhole(c, request) : talkWhole(c, await openTalk(c, id, request));
}

export async function answerStream(c: GatewayContext, body: JsonObject, request: ChatRequest): Promise<ServedStream> {
  const id = conversationId(c, body);
  return id === null ? serveStream(c, request) : talkStream(c, await openTalk(c, id, request));
}

export async function talkWhole(c: GatewayContext, talk: Talk): Promise<ServedWhole> {
  const served = await serveWhole(c, talk.request);
  // Before the client has its answer, so that its next request finds this one.
  if (served.name.degraded === undefined) await talk.keep(served.answer);
  return served;
}

export async function talkStream(c: GatewayContext, talk: Talk): Promise<ServedStream> {
  const { name, pieces, abort, settle } = await serveStream(c, talk.request);
  return { name, pieces: name.degraded === undefined ? kept(pieces, talk) : pieces, abort, settle };
}

/** The pieces; what they say is kept before the stream ends. A stream that breaks off is no part of the history. */
async function* kept(
  pieces: AsyncGenerator<Piece, void, undefined>,
  talk: Talk,
): AsyncGenerator<Piece, void, undefined> {
  const said = new Collector();
  for await (const piece of pieces) {
    said.add(piece);
    yield piece;
  }
  await talk.keep(said.answer());
}
