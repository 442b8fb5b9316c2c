import { type Batch, Pieces } from "../backends/pieces.ts";
import { Collector } from "../chat/collect.ts";
import type { JsonObject } from "../chat/json-body.ts";
import type { ChatRequest } from "../chat/request.ts";
import { type ServedStream, type ServedWhole, serveStream, serveWhole } from "../chat/serve.ts";
import type { GatewayContext } from "../gateway.ts";
import { routed } from "../routing/hybrid.ts";
import type { Soon } from "../soon.ts";
import { alone, conversationId, openTalk, shortened, type Talk } from "./talk.ts";

/** The conversation that a body or a header names, opened for the request. */
export function talkFor(c: GatewayContext, body: JsonObject, request: ChatRequest): Soon<Talk> {
  const id = conversationId(c, body);
  const fitting = shortened(c, body, request);
  return id === null ? alone(fitting) : openTalk(c, id, fitting);
}

export async function talkWhole(c: GatewayContext, { request, keep }: Talk): Promise<ServedWhole> {
  const served = await serveWhole(c, await routed(c, request));
  // Before the client has its answer, so that its next request finds this one.
  if (served.name.degraded === undefined) await keep?.(served.answer);
  return served;
}

export async function talkStream(c: GatewayContext, { request, keep }: Talk): Promise<ServedStream> {
  const served = await serveStream(c, await routed(c, request));
  if (keep === null || served.name.degraded !== undefined) return served;
  const { name, pieces, abort, settle } = served;
  return { name, pieces: new Kept(pieces, keep), abort, settle };
}

/** The pieces; what they say is kept before the stream ends. A stream that breaks off is no part of the history. */
class Kept extends Pieces {
  readonly #from: Pieces;
  readonly #keep: NonNullable<Talk["keep"]>;
  readonly #said = new Collector();
  #over = false;

  constructor(from: Pieces, keep: NonNullable<Talk["keep"]>) {
    super();
    this.#from = from;
    this.#keep = keep;
  }

  async next(soon: boolean): Promise<Batch> {
    if (!this.#over) {
      const { pieces, last } = await this.#from.next(soon);
      for (const piece of pieces) this.#said.add(piece);
      this.#over = last;
      // The client needn't wait with us for what it may have now.
      if (!last || pieces.length > 0) return { pieces, last: false };
    }
    await this.#keep(this.#said.answer());
    return { pieces: [], last: true };
  }

  stop(): void {
    this.#from.stop();
  }
}
