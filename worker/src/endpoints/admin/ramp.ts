import { Gate } from "../../config-rollout.ts";
import type { GatewayContext } from "../../gateway.ts";
import type { RampOrder } from "../../rollout/port.ts";
import * as s from "../../schema.ts";
import { json } from "../json.ts";
import { readBody } from "./body.ts";
import { ask, bodyOf } from "./rollouts.ts";

const id = s.string(s.like(/^[^\n]{1,100}$/, "must be a worker version's id"));
const moment = s.number(s.least(0));
const RampBody = s.strict({
  old: id,
  new: id,
  since: moment,
  step: moment,
  gates: s.list(Gate, [({ length }) => length > 0 && length <= 10, "must be 1 to 10"]),
});

/** `POST /releases/ramp`: compares two worker versions from now on, and says what their requests have shown so far. */
export async function rampWorkers(c: GatewayContext): Promise<Response> {
  return ramp(c, readBody(RampBody, await bodyOf(c)));
}

/** `GET /releases/ramp`: what they have shown; `ramp` null when none are compared. */
export async function getRamp(c: GatewayContext): Promise<Response> {
  return ramp(c);
}

/** `DELETE /releases/ramp`: no request is told of for it any longer. */
export async function endRamp(c: GatewayContext): Promise<Response> {
  return ramp(c, null);
}

async function ramp(c: GatewayContext, order?: RampOrder | null): Promise<Response> {
  return json(c, { ramp: await ask(c, (controller) => controller.ramp(order)) });
}
