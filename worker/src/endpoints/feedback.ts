import { parseJsonObject } from "../chat/json-body.ts";
import { ApiError, badRequest } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";
import { callerOf, ratedId } from "../outcomes/outcome.ts";
import { controllerOf, type FeedbackResult } from "../rollout/port.ts";
import { json } from "./json.ts";

const LONGEST_ID = 128;
/** What another isolate has not told yet, it tells within this. */
const UNTOLD_MS = 700;

/**
 * `POST /v1/feedback {"request_id", "rating": "up" | "down"}`: a thumb on a request of the caller's own, by whatever
 * isolate it was served. The first one counts. 404 for a request that nobody may rate, or no longer.
 */
export async function feedback(c: GatewayContext): Promise<Response> {
  const { request_id, rating } = parseJsonObject(await c.get("readBody")());
  if (typeof request_id !== "string" || request_id === "" || request_id.length > LONGEST_ID) {
    throw badRequest("`request_id` must be the `x-request-id` of an answer.", "request_id");
  }
  if (rating !== "up" && rating !== "down") throw badRequest("`rating` must be `up` or `down`.", "rating");
  const result = await found(c, ratedId(request_id), rating === "down").catch((cause) => {
    const message = "Feedback can't be taken right now. Send it again.";
    throw new ApiError(503, "feedback_unavailable", message, { headers: { "retry-after": "2" }, cause });
  });
  if (result === "unknown") {
    const message =
      "No request of yours with that id can be rated: only those of a model on its way whose rollout counts feedback, " +
      "for a day.";
    throw new ApiError(404, "request_not_found", message, { param: "request_id" });
  }
  return json(c, { request_id, rating, counted: result === "counted" });
}

/** Looks for the request, then once more when all isolates must have told of it. */
async function found(c: GatewayContext, id: string, bad: boolean): Promise<FeedbackResult> {
  const { config, outcomes, ambient } = c.get("gateway");
  const controller = controllerOf(c.env, config);
  const rate = () => controller.feedback(id, callerOf(c.get("record")), bad);
  const first = await rate();
  if (first !== "unknown" || !outcomes.rates) return first;
  await outcomes.flush(c.env);
  await ambient.linger(UNTOLD_MS);
  return rate();
}
