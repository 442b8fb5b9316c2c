import { type JsonObject, parseJsonObject } from "../chat/json-body.ts";
import { type ChatRequest, readChatRequest } from "../chat/request.ts";
import { serveWhole } from "../chat/serve.ts";
import { ApiError, badRequest } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";
import { defaultModel } from "../routing/route.ts";
import { textOf } from "../tokens/estimate.ts";
import { json } from "./json.ts";

/** `POST /`: `{"prompt", "max_tokens"?, "temperature"?, "model"?, "user"?}` -> `{"response": {"text"}}`. */
export async function simple(c: GatewayContext): Promise<Response> {
  const { answer } = await serveWhole(c, readSimpleRequest(c, parseJsonObject(await c.var.readBody())));
  return json(c, { response: { text: textOf(answer.choices[0]?.message.content ?? null) } });
}

function readSimpleRequest(c: GatewayContext, body: JsonObject): ChatRequest {
  const { config } = c.var.gateway;
  const { prompt, max_tokens, temperature, user } = body;
  if (prompt === undefined) throw badRequest('`prompt` is missing: send {"prompt": "..."}.', "prompt");
  if (typeof prompt !== "string") throw badRequest("`prompt` must be a string.", "prompt");
  if (prompt.trim() === "") throw badRequest("`prompt` is empty.", "prompt");
  const model = body.model ?? defaultModel(config);
  if (model === null) throw new ApiError(404, "model_not_found", "This stage serves no chat model.");
  const messages = [{ role: "user", content: prompt }];
  return readChatRequest({ model, messages, max_tokens, temperature, user }, config.limits.max_tokens);
}
