import type { Piece } from "../backends/backend.ts";
import { type FieldName, isOfMessages, named } from "../chat/field-names.ts";
import { DONE, type StreamFormat, sseEvent } from "../chat/format.ts";
import { type JsonObject, parseJsonObject } from "../chat/json-body.ts";
import { type ChatRequest, readChatRequest } from "../chat/request.ts";
import type { AnswerName } from "../chat/shapes.ts";
import { streamResponse } from "../chat/stream-body.ts";
import { talkFor, talkStream, talkWhole } from "../conversation/serve.ts";
import type { ErrorBody } from "../errors.ts";
import { ApiError, badRequest } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";
import { defaultModel } from "../routing/route.ts";
import { textOf } from "../tokens/estimate.ts";
import { json } from "./json.ts";

/**
 * `POST /`: `{"prompt", "history"?}` or `{"messages"}`, with `max_tokens`, `temperature`, `model`, `user`, `stream` and
 * `conversation` as wanted -> `{"response": {"text"}}`, once or as a stream of events that each add to the text.
 */
export async function simple(c: GatewayContext): Promise<Response> {
  const body = parseJsonObject(await c.get("readBody")());
  return named(fieldOf(body), () => answer(c, body));
}

async function answer(c: GatewayContext, body: JsonObject): Promise<Response> {
  const request = readSimpleRequest(c, body);
  const talk = await talkFor(c, body, request);
  if (request.stream) {
    const served = await talkStream(c, talk);
    return streamResponse(c, served, new SimpleWriter(served.name));
  }
  const { name, answer } = await talkWhole(c, talk);
  return json(c, simpleBody(name, textOf(answer.choices[0]?.message.content ?? null)));
}

function readSimpleRequest(c: GatewayContext, body: JsonObject): ChatRequest {
  const { config } = c.get("gateway");
  const { max_tokens, temperature, user, stream } = body;
  const messages = readSimpleMessages(body);
  const model = body.model ?? defaultModel(config);
  if (model === null) throw new ApiError(404, "model_not_found", "This stage serves no chat model.");
  return readChatRequest({ model, messages, max_tokens, temperature, user, stream }, config.limits.max_tokens);
}

function readSimpleMessages({ prompt, history, messages }: JsonObject): unknown {
  if (messages !== undefined && messages !== null) {
    if (prompt !== undefined || history !== undefined) {
      throw badRequest("Send either `messages`, or `prompt` with `history`.", "messages");
    }
    return messages;
  }
  if (prompt === undefined) throw badRequest('`prompt` is missing: send {"prompt": "..."}.', "prompt");
  if (typeof prompt !== "string") throw badRequest("`prompt` must be a string.", "prompt");
  if (prompt.trim() === "") throw badRequest("`prompt` is empty.", "prompt");
  const before = history ?? [];
  if (!Array.isArray(before)) throw badRequest("`history` must be an array of messages.", "history");
  return [...before, { role: "user", content: prompt }];
}

/** What a chat's field is called here: the messages are the history, and the prompt behind it. */
function fieldOf({ messages, history }: JsonObject): FieldName {
  const before = Array.isArray(history) ? history.length : 0;
  return (field) => {
    if (!isOfMessages(field) || (messages !== undefined && messages !== null)) return field;
    const at = /^messages\[(\d+)\]/.exec(field)?.[1];
    // All of them together are mostly the history, where there is one.
    const inHistory = at === undefined ? before > 0 : Number(at) < before;
    return inHistory ? field.replace("messages", "history") : "prompt";
  };
}

function simpleBody({ degraded }: AnswerName, text: string): JsonObject {
  return { response: { text }, ...(degraded !== undefined && { sluiceway: { degraded } }) };
}

/** Events of the same shape as the whole answer, each with what it adds to the text. */
class SimpleWriter implements StreamFormat {
  readonly #name: AnswerName;

  constructor(name: AnswerName) {
    this.#name = name;
  }

  piece(piece: Piece): string {
    const text = piece.choices.map(({ index, delta }) => (index === 0 ? (delta.content ?? "") : "")).join("");
    return text === "" ? "" : sseEvent(simpleBody(this.#name, text));
  }

  end(): string {
    return DONE;
  }

  failure(fault: ErrorBody): string {
    return sseEvent(fault);
  }
}
