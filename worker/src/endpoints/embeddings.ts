import { parseJsonObject } from "../chat/json-body.ts";
import type { GatewayContext } from "../gateway.ts";
import { refOf } from "../routing/find.ts";
import { readEmbeddings } from "./embeddings-request.ts";
import { serveEmbeddings } from "./embeddings-serve.ts";

/** `POST /v1/embeddings`, in OpenAI's shape. */
export async function embeddings(c: GatewayContext): Promise<Response> {
  const { max_characters } = c.get("gateway").config.guard;
  const request = readEmbeddings(parseJsonObject(await c.get("readBody")()), max_characters);
  const { vectors, usage, route } = await serveEmbeddings(c, request);
  const { prompt_tokens, total_tokens, estimated } = usage;
  const told = { prompt_tokens, total_tokens, ...(estimated === true && { estimated }) };
  const parts = encoded(vectors, request.base64, { model: refOf(route), usage: told });
  c.get("record").bytesOut = parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
  return new Response(inParts(parts), { headers: { "content-type": "application/json; charset=utf-8" } });
}

/** Thousands of vectors as numbers are tens of megabytes: never all of them as a text beside the bytes. */
const VECTORS_A_PART = 64;

/** The answer's JSON in parts. */
function encoded(vectors: readonly (readonly number[])[], base64: boolean, rest: object): Uint8Array[] {
  const encoder = new TextEncoder();
  const parts: Uint8Array[] = [];
  let text = '{"object":"list","data":[';
  for (const [index, vector] of vectors.entries()) {
    const item = { object: "embedding", index, embedding: base64 ? base64Of(vector) : vector };
    text += `${index === 0 ? "" : ","}${JSON.stringify(item)}`;
    if (index % VECTORS_A_PART !== VECTORS_A_PART - 1) continue;
    parts.push(encoder.encode(text));
    text = "";
  }
  parts.push(encoder.encode(`${text}],${JSON.stringify(rest).slice(1)}`));
  return parts;
}

function inParts(parts: Uint8Array[]): Uint8Array | ReadableStream<Uint8Array> {
  const [only] = parts;
  if (only !== undefined && parts.length === 1) return only;
  const rest = parts.values();
  return new ReadableStream({
    pull(controller) {
      const next = rest.next();
      if (next.done) controller.close();
      else controller.enqueue(next.value);
    },
  });
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
