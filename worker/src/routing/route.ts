import type { GatewayConfig, ModelVersion, Split } from "../config.ts";
import { ApiError } from "../errors.ts";
import type { Soon } from "../soon.ts";
import { choose, point } from "./split.ts";

/** The arm of live traffic that a request belongs to; `pinned` requests named their version and are no one's evidence. */
export type Variant = "stable" | "candidate" | "pinned";

export interface Route {
  readonly model: string;
  readonly version: number;
  readonly variant: Variant;
  readonly spec: ModelVersion;
}

/** Finds the model version for `chat` (by the live split, sticky by user) or `chat@2` (as named). Throws the 404. */
export function routeTo(
  config: GatewayConfig,
  splitOf: (model: string) => Soon<Split>,
  wanted: string,
  user: string,
): Soon<Route> {
  const { name, version: pinned } = parseModel(wanted);
  if (!Object.hasOwn(config.models, name)) throw modelNotFound(wanted);
  if (pinned !== null) return routeAt(config, name, pinned, null);
  const split = splitOf(name);
  if (split instanceof Promise) return split.then((told) => bySplit(config, name, user, told));
  return bySplit(config, name, user, split);
}

function bySplit(config: GatewayConfig, model: string, user: string, split: Split): Soon<Route> {
  // Where one version has it all, nobody's place is worth a digest.
  const all = split.find(([, weight]) => weight === 100);
  if (all !== undefined) return routeAt(config, model, all[0], split);
  return point(model, user).then((place) => routeAt(config, model, choose(split, place), split));
}

function routeAt({ models }: GatewayConfig, model: string, version: number, split: Split | null): Route {
  const versions = models[model]?.versions ?? {};
  const spec = Object.hasOwn(versions, String(version)) ? versions[String(version)] : undefined;
  if (spec === undefined) throw modelNotFound(split === null ? `${model}@${version}` : model);
  return { model, version, variant: variantOf(split, version), spec };
}

function variantOf(split: Split | null, version: number): Variant {
  if (split === null) return "pinned";
  return version === split[0]?.[0] ? "stable" : "candidate";
}

/** `chat@2` -> chat, 2. Anything after `@` that is not a version makes the whole a name, which then does not exist. */
export function parseModel(wanted: string): { name: string; version: number | null } {
  const match = /^(.+)@([1-9][0-9]{0,8})$/s.exec(wanted);
  if (match === null) return { name: wanted, version: null };
  return { name: match[1] as string, version: Number(match[2]) };
}

export function modelNotFound(wanted: string): ApiError {
  const shown = wanted.length > 100 ? `${wanted.slice(0, 100)}...` : wanted;
  const message = `The model \`${shown}\` does not exist. \`GET /v1/models\` lists those that do.`;
  return new ApiError(404, "model_not_found", message, { param: "model" });
}

/** Name of the model that serves requests which name none: the one marked default, else the first chat model. */
export function defaultModel(config: GatewayConfig): string | null {
  const models = Object.entries(config.models);
  const found = models.find(([, model]) => model.default) ?? models.find(([, model]) => model.task === "chat");
  return found?.[0] ?? null;
}
