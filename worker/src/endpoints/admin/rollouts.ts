import { parseJsonObject } from "../../chat/json-body.ts";
import { ApiError } from "../../errors.ts";
import type { GatewayContext } from "../../gateway.ts";
import { controllerOf, type Done, type Refusal, type RolloutPort, type StageView } from "../../rollout/port.ts";
import type { Command } from "../../rollout/types.ts";
import { json } from "../json.ts";
import { readBody } from "./body.ts";
import { wholeNumber } from "./keys.ts";
import { CheckBody, CommandBody, WithdrawBody } from "./rollout-body.ts";

const PAGE = 100;
const MOST = 1_000;
/** Names of models are no longer. */
const LONGEST_NAME = 100;

/** `GET /rollouts`: all models of the stage as they are now. */
export async function listRollouts(c: GatewayContext): Promise<Response> {
  return json(c, await ask(c, named(c)));
}

/** `GET /rollouts/{model}`. */
export async function getRollout(c: GatewayContext): Promise<Response> {
  const name = nameOf(c);
  const { models } = await ask(c, (controller) => controller.views());
  const view = models.find(({ model }) => model === name);
  return view === undefined ? refuse(c, noModel(name)) : json(c, view);
}

/** `POST /rollouts/{model}/{pause|resume|promote|abort|rollback}`: the model as it is then, or a 409 with a hint. */
export function commandRollout(command: Command): (c: GatewayContext) => Promise<Response> {
  return async function commandRollout(c) {
    const { actor, reason, expect } = readBody(CommandBody, await bodyOf(c));
    const order = { model: nameOf(c), command, actor, reason, expect };
    return answer(c, await ask(c, (controller) => controller.command(order)));
  };
}

/** `POST /rollouts/{model}/checks`: what a pre-check found. */
export async function reportCheck(c: GatewayContext): Promise<Response> {
  const report = { model: nameOf(c), ...readBody(CheckBody, await bodyOf(c)) };
  return answer(c, await ask(c, (controller) => controller.check(report)));
}

/** `GET /rollouts/journal?model=&after=&limit=`: what happened, oldest first. */
export async function journal(c: GatewayContext): Promise<Response> {
  // `model=` names none.
  const model = c.req.query("model") || null;
  const after = wholeNumber(c.req.query("after") ?? "0", "after", 0, Number.MAX_SAFE_INTEGER);
  const limit = wholeNumber(c.req.query("limit") ?? String(PAGE), "limit", 1, MOST);
  return json(c, await ask(c, (controller) => controller.journal(model, after, limit)));
}

/** `POST /rollouts/withdraw`: the spec of a worker version that was taken back never counts again. */
export async function withdraw(c: GatewayContext): Promise<Response> {
  const { order, actor } = readBody(WithdrawBody, await bodyOf(c));
  return answer(c, await ask(c, (controller) => controller.withdraw(order, actor)));
}

/** The stage by the name that this worker version has for it, also before anything was declared. */
function named(c: GatewayContext): (controller: RolloutPort) => Promise<StageView> {
  const { stage } = c.get("gateway").config;
  return async (controller) => ({ ...(await controller.views()), stage });
}

export async function bodyOf(c: GatewayContext) {
  return parseJsonObject(await c.get("readBody")());
}

function nameOf(c: GatewayContext): string {
  return (c.req.param("model") ?? "").slice(0, LONGEST_NAME);
}

/** Asks the controller, which is first told what this worker version declares: it may be the first to say so. */
export async function ask<T>(c: GatewayContext, work: (controller: RolloutPort) => Promise<T>): Promise<T> {
  const { config, table } = c.get("gateway");
  await table.refresh(c.env);
  try {
    return await work(controllerOf(c.env, config));
  } catch (cause) {
    const message = "The stage's rollouts can't be reached right now; whether this was done is not known. Look again.";
    throw new ApiError(503, "rollouts_unavailable", message, { headers: { "retry-after": "2" }, cause });
  }
}

function answer<T>(c: GatewayContext, done: Done<T>): Response {
  return "done" in done ? json(c, done.done) : refuse(c, done.refused);
}

function noModel(name: string): Refusal {
  const message = `No model ${name} is declared in this stage.`;
  return { code: "model_not_found", message, hint: "`sluiceway rollout list` shows those that are." };
}

/** What makes no sense now is a conflict: 409; a model that is not there 404. */
function refuse(c: GatewayContext, { code, message, hint }: Refusal): Response {
  const fault = new ApiError(code === "model_not_found" ? 404 : 409, code, message);
  const record = c.get("record");
  record.errorCode = code;
  const { error } = fault.body(record.id);
  return json(c, { error: { ...error, hint } }, fault.status);
}
