import { parseJsonObject } from "../chat/json-body.ts";
import { checkedId, conversationsOff, forget } from "../conversation/talk.ts";
import { badRequest } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";
import { json } from "./json.ts";

/** `POST /v1/conversations`: a new conversation's id, for clients that don't make their own. */
export async function createConversation(c: GatewayContext): Promise<Response> {
  const { ambient, config } = c.get("gateway");
  const bytes = await c.get("readBody")();
  const { metadata = null, items } = bytes.byteLength === 0 ? {} : parseJsonObject(bytes);
  if (Array.isArray(items) ? items.length > 0 : items !== undefined && items !== null) {
    throw badRequest("`items` are not taken here: send them with the first request.", "items");
  }
  if (!config.conversations.enabled) throw conversationsOff("conversation");
  const id = `conv_${ambient.newId().replace(/^req-/, "")}`;
  return json(c, {
    id,
    object: "conversation",
    created_at: Math.floor(ambient.now() / 1000),
    metadata: metadata ?? {},
  });
}

/** `DELETE /v1/conversations/{id}`: forgets all of it. */
export async function deleteConversation(c: GatewayContext): Promise<Response> {
  return json(c, { id: await forgotten(c, "conversation"), object: "conversation.deleted", deleted: true });
}

/** `DELETE /v1/responses/{id}`: what goes on from it stays. */
export async function deleteResponse(c: GatewayContext): Promise<Response> {
  return json(c, { id: await forgotten(c, "response_id"), object: "response", deleted: true });
}

async function forgotten(c: GatewayContext, param: string): Promise<string> {
  const id = checkedId(c, c.req.param("id"), param);
  await forget(c, id);
  return id;
}
