import { ApiError } from "../errors.ts";
import { parseModel } from "../routing/route.ts";
import type { Principal } from "./principal.ts";

/**
 * Whether the caller may use a model (`chat`) or one version of it (`chat@2`). A list that names the model admits all
 * its versions; one that names `chat@2` admits that version only when it is asked for by this name, since `chat` goes
 * wherever the live split sends it.
 */
export function modelAllowed({ models }: Pick<Principal, "models">, model: string): boolean {
  return models === null || models.includes(model) || models.includes(parseModel(model).name);
}

/** Throws the 403. To be called before it is known whether the model exists, so that a refusal doesn't tell. */
export function assertModelAllowed(principal: Pick<Principal, "models">, model: string): void {
  if (modelAllowed(principal, model)) return;
  const shown = model.length > 100 ? `${model.slice(0, 100)}...` : model;
  throw new ApiError(403, "model_not_allowed", `This key may not use the model \`${shown}\`.`, { param: "model" });
}
