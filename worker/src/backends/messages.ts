import { badRequest } from "../errors.ts";
import type { Call, ContentPart, Message } from "./backend.ts";
import { isPublicPicture } from "./pictures.ts";

/**
 * Messages as every server takes them, however narrow its schema: content a string, or parts where a picture is among
 * them; tool arguments text; no field that is null. OpenAI's clients send wider ones: null content beside tool calls,
 * arrays of text parts, and back in the next turn every field of an answer that was empty. Throws a 400 that names
 * a part which the version can't take.
 */
export function plainMessages(call: Call): Message[] {
  const vision = call.version.vision === true;
  const ahead = call.ahead ?? (call.version.prompt ? 1 : 0);
  return call.messages.map((message, index) => {
    const plain: Record<string, unknown> = {};
    for (const name in message) {
      const value = message[name];
      if (value !== null && value !== undefined) plain[name] = value;
    }
    plain.content = flatten(message.content, vision, `messages[${index - ahead}].content`);
    const calls = message.tool_calls;
    if (Array.isArray(calls)) {
      if (calls.length > 0) plain.tool_calls = calls.map(withTextArguments);
      else delete plain.tool_calls;
    }
    return plain as Message;
  });
}

function flatten(content: Message["content"], vision: boolean, path: string): string | ContentPart[] {
  if (content === null) return "";
  if (typeof content === "string") return content;
  if (vision && content.some(({ type }) => type === "image_url")) {
    return content.map((part, index) => seen(part, `${path}[${index}]`));
  }
  return content.map((part, index) => textOf(part, vision, `${path}[${index}]`)).join("\n");
}

/** A part beside a picture, or the picture. */
function seen(part: ContentPart, path: string): ContentPart {
  if (part.type !== "image_url") return { type: "text", text: textOf(part, true, path) };
  const { url } = (part.image_url ?? {}) as { url?: unknown };
  const at = `${path}.image_url.url`;
  if (typeof url !== "string") throw badRequest(`\`${at}\` must be a string.`, at);
  if (isPublicPicture(url)) return part;
  throw badRequest(`\`${at}\` must be a picture as \`data:image/...\`, or an address on the public web.`, at);
}

function textOf(part: ContentPart, vision: boolean, path: string): string {
  if (part.type === "text" && typeof part.text === "string") return part.text;
  if (part.type === "refusal" && typeof part.refusal === "string") return part.refusal;
  throw badRequest(`This model takes text ${vision ? "and pictures" : "only"}, not \`${part.type}\`.`, path);
}

function withTextArguments(call: unknown): unknown {
  const wanted = (call as { function?: { arguments?: unknown } | null } | null)?.function;
  if (typeof wanted !== "object" || wanted === null || typeof wanted.arguments === "string") return call;
  return { ...(call as object), function: { ...wanted, arguments: JSON.stringify(wanted.arguments ?? {}) } };
}
