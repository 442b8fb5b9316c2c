import { parseJsonObject } from "../chat/json-body.ts";
import type { GatewayContext } from "../gateway.ts";
import { refOf } from "../routing/find.ts";
import { readEmbeddings } from "./embeddings-request.ts";
import { serveEmbeddings } from "./embeddings-serve.ts";
import { json } from "./json.ts";

/** `POST /v1/embeddings`, in OpenAI's shape. */
export async function embeddings(c: GatewayContext): Promise<Response> {
  const { max_characters } = c.var.gateway.config.guard;
  const request = readEmbeddings(parseJsonObject(await c.var.readBody()), max_characters);
  const { vectors, usage, route } = await serveEmbeddings(c, request);
  const data = vectors.map((vector, index) => ({
    object: "embedding",
    index,
    embedding: request.base64 ? base64Of(vector) : vector,
  }));
  const { prompt_tokens, total_tokens, estimated } = usage;
  const told = { prompt_tokens, total_tokens, ...(estimated === true && { estimated }) };
  return json(c, { object: "list", data, model: refOf(route), usage: told });
}

/** Little-endian 32-bit floats, as OpenAI's clients read them. */
function base64Of(vector: readonly number[]): string {
  const bytes = new DataView(new ArrayBuffer(vector.length * 4));
  for (const [index, value] of vector.entries()) bytes.setFloat32(index * 4, value, true);
  let binary = "";
  // In parts: a call takes only so many arguments.
  for (let at = 0; at < bytes.byteLength; at += 8_192) {
    binary += String.fromCharCode(...new Uint8Array(bytes.buffer, at, Math.min(8_192, bytes.byteLength - at)));
  }
  return btoa(binary);
}
