import { assertModelAllowed } from "../access/allowed.ts";
import type { Model } from "../config.ts";
import type { GatewayContext } from "../gateway.ts";
import { modelNotFound, parseModel } from "../routing/route.ts";
import { json } from "./json.ts";

/** `GET /v1/models`: every model by name, which follows the live split, in OpenAI's shape; of them those of the caller. */
export function listModels(c: GatewayContext): Response {
  const { models } = c.get("gateway").config;
  const ids = new Set(c.get("principal").models ?? Object.keys(models));
  const data = [...ids].flatMap((id) => {
    const model = find(models, id);
    return model === null ? [] : [describe(id, model)];
  });
  return json(c, { object: "list", data });
}

/** `GET /v1/models/{id}`: a model (`chat`) or one of its versions (`chat@2`). */
export function getModel(c: GatewayContext): Response {
  const id = c.req.param("id") ?? "";
  assertModelAllowed(c.get("principal"), id);
  const model = find(c.get("gateway").config.models, id);
  if (model === null) throw modelNotFound(id);
  return json(c, describe(id, model));
}

function find(models: Record<string, Model>, id: string): Model | null {
  const { name, version } = parseModel(id);
  const model = Object.hasOwn(models, name) ? models[name] : undefined;
  if (model === undefined || (version !== null && !Object.hasOwn(model.versions, String(version)))) return null;
  return model;
}

function describe(id: string, model: Model): Record<string, unknown> {
  const versions = Object.keys(model.versions).map(Number);
  // The catalogue has no dates; the field must be a number.
  return { id, object: "model", created: 0, owned_by: "sluiceway", task: model.task, versions };
}
