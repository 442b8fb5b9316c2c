import { assertModelAllowed } from "../access/allowed.ts";
import { parseJsonObject } from "../chat/json-body.ts";
import type { Linear } from "../edge/linear.ts";
import { ApiError, badRequest } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";
import { begin } from "../outcomes/evidence.ts";
import { timed } from "../record.ts";
import { findRoute, refOf, userOf } from "../routing/find.ts";
import type { Route } from "../routing/route.ts";
import { readEmbeddings } from "./embeddings-request.ts";
import { json } from "./json.ts";

/**
 * `POST /v1/classify`: `{"model", "input"}` with a text or an array of them -> for each the likeliest label, and the
 * probability of every label. Linear models alone, scored in the isolate: it costs no tokens.
 */
export async function classify(c: GatewayContext): Promise<Response> {
  const { config } = c.get("gateway");
  const record = c.get("record");
  const asked = readEmbeddings(parseJsonObject(await c.get("readBody")()), config.guard.max_characters);
  const { model, input } = asked;
  if (!input.every((item) => typeof item === "string")) throw badRequest("`input` must hold texts alone.", "input");
  assertModelAllowed(c.get("principal"), model);
  const user = userOf(c, asked.user);
  const route = await timed(record, "route", () => findRoute(c, model, user));
  record.model = route.model;
  record.version = route.version;
  record.variant = route.variant;
  record.cache = "bypass";
  begin(c, route, user);
  if (config.log.prompts) record.prompt = input.join("\n");
  const linear = await timed(record, "backend", () => linearOf(c, route));
  record.costUsd = 0;
  const data = input.map((text, index) => {
    const shares = linear.probabilities(text);
    const label = linear.labels[shares.indexOf(Math.max(...shares))];
    return { index, label, probabilities: Object.fromEntries(shares.map((share, at) => [linear.labels[at], share])) };
  });
  return json(c, { object: "list", model: refOf(route), data });
}

async function linearOf(c: GatewayContext, { model, spec }: Route): Promise<Linear> {
  const { config, linears } = c.get("gateway");
  const { task } = config.models[model] ?? {};
  if (task !== "classify") {
    const message = `The model \`${model}\` doesn't classify (its task is ${task}).`;
    throw new ApiError(400, "wrong_task", message, { param: "model" });
  }
  try {
    return await linears.get(c.env.MODELS, spec);
  } catch (error) {
    throw new ApiError(503, "model_unavailable", `The model can't be used now: ${(error as Error).message}.`);
  }
}
