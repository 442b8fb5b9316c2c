import { purge } from "../../cache/purge.ts";
import { parseJsonObject } from "../../chat/json-body.ts";
import { ApiError, badRequest } from "../../errors.ts";
import type { GatewayContext } from "../../gateway.ts";
import { parseModel } from "../../routing/route.ts";
import * as s from "../../schema.ts";
import { json } from "../json.ts";
import { readBody } from "./body.ts";

const name = s.string(s.filled, s.longest(120, "is too long"));

const PurgeBody = s.strict({
  release: s.maybe(name),
  model: s.maybe(name),
  /** Everything, which nobody should ask for by leaving something out. */
  all: s.maybe(s.one([true], "must be true")),
});

/**
 * `POST /cache/purge`: deletes what is kept of a `release`, of a `model`, of both together, or of `all`. Tells how many
 * entries went, and whether that is all: one call deletes some hundreds, and the next goes on.
 */
export async function purgeCache(c: GatewayContext): Promise<Response> {
  const { release, model, all } = readBody(PurgeBody, parseJsonObject(await c.get("readBody")()));
  if ((release === undefined && model === undefined) !== (all === true)) {
    throw badRequest("Name a `release`, a `model` or both; or say `all`: true, and nothing else.");
  }
  const gateway = c.get("gateway");
  // An older release may have served a model that this one doesn't.
  const served = Object.keys(gateway.config.models);
  if (model !== undefined && release === undefined && !served.includes(model)) throw unknownModel(model, served);
  const record = c.get("record");
  gateway.cache.forget();
  const done = await purge(c.env, { release, model }).catch((cause) => {
    const message = "The cache can't be reached right now; some of it may be deleted. Ask again.";
    throw new ApiError(503, "cache_unavailable", message, { headers: { "retry-after": "2" }, cause });
  });
  gateway.ambient.log(JSON.stringify({ event: "purge", level: "info", id: record.id, release, model, ...done }));
  return json(c, done);
}

function unknownModel(model: string, served: readonly string[]): ApiError {
  const at = parseModel(model);
  const whole = at.version !== null && served.includes(at.name) ? " A purge is of all versions of a model." : "";
  const message = `\`model\`: this stage serves no \`${model}\`; it serves ${served.join(", ")}.${whole}`;
  return new ApiError(404, "model_not_found", message, { param: "model" });
}
