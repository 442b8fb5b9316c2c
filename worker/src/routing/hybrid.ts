import { modelAllowed } from "../access/allowed.ts";
import type { ChatRequest } from "../chat/request.ts";
import type { GatewayContext } from "../gateway.ts";
import { timed } from "../record.ts";
import { textOf } from "../tokens/estimate.ts";
import { findRoute, userOf } from "./find.ts";

/** Characters of all messages together: what is this long is work for a large model whatever its last line says. */
const LONG = 8_000;
const SIMPLE = "simple";

/**
 * The request for the model that is to have it: the small one where the stage has a `route` for this model, its
 * classifier calls the last message simple, and nothing asks for more. Notes what was decided, and why. Never throws.
 */
export async function routed(c: GatewayContext, request: ChatRequest): Promise<ChatRequest> {
  const { models } = c.get("gateway").config;
  const principal = c.get("principal");
  const route = Object.hasOwn(models, request.model) && models[request.model]?.route;
  if (!route || !modelAllowed(principal, request.model)) return request;
  const record = c.get("record");
  let why = modelAllowed(principal, route.simple) ? whyComplex(c, request) : "not-allowed";
  let simple = false;
  try {
    if (why === null) {
      const score = await timed(record, "route", () => scored(c, request, route.by));
      simple = score >= route.threshold;
      why = score.toFixed(2);
    }
  } catch (error) {
    why = `unavailable: ${(error as Error).message}`;
  }
  record.route = `${simple ? SIMPLE : "complex"} ${why}`;
  return simple ? { ...request, model: route.simple } : request;
}

/** Why a request is not even looked at, or null. */
function whyComplex(c: GatewayContext, { messages, parameters }: ChatRequest): string | null {
  if (c.req.header("x-sluiceway-route")?.trim().toLowerCase() === "off") return "off";
  let length = 0;
  for (const { role, content, tool_calls } of messages) {
    if (role === "tool" || tool_calls) return "tools";
    if (typeof content !== "string" && content?.some(({ type }) => type !== "text")) return "images";
    length += textOf(content).length;
  }
  return parameters.tools || parameters.functions ? "tools" : length > LONG ? "long" : null;
}

/** How probable it is that the user's last message is simple. Throws when the classifier can't be had. */
async function scored(c: GatewayContext, { messages, user }: ChatRequest, by: string): Promise<number> {
  const { spec } = await findRoute(c, by, userOf(c, user));
  const linear = await c.get("gateway").linears.get(c.env.MODELS, spec);
  const last = messages.findLast(({ role }) => role === "user");
  return linear.probabilities(textOf(last?.content ?? null))[linear.labels.indexOf(SIMPLE)] ?? 0;
}
