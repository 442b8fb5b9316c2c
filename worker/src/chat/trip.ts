import { assertModelAllowed } from "../access/allowed.ts";
import type { Call } from "../backends/backend.ts";
import { ApiError } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";
import { guardPrompt } from "../guard/prompt.ts";
import { begin } from "../outcomes/evidence.ts";
import { timed } from "../record.ts";
import type { Try } from "../resilience/attempt.ts";
import { type Chain, chainOf } from "../resilience/chain.ts";
import { affinityOf } from "../routing/affinity.ts";
import { findRoute, refOf, userOf } from "../routing/find.ts";
import type { Route } from "../routing/route.ts";
import { type Ender, Switch } from "../switch.ts";
import { textOf } from "../tokens/estimate.ts";
import { Leg } from "./leg.ts";
import type { ChatRequest } from "./request.ts";
import type { AnswerName } from "./shapes.ts";

/** A request on its way: where it goes, and how it is stopped. */
export interface Trip {
  readonly c: GatewayContext;
  readonly request: ChatRequest;
  readonly user: string;
  readonly chain: Chain;
  /** The request as each version of the chain gets it. */
  readonly legs: ReadonlyMap<Route, Leg>;
  /** Aborts when the client leaves. */
  readonly abort: Ender;
}

/** Tokens of an answer that a stand-in's window must leave room for, if as many were asked for. */
const LEAST_ROOM = 1_024;

export async function setOut(c: GatewayContext, asked: ChatRequest): Promise<Trip> {
  const gateway = c.get("gateway");
  const record = c.get("record");
  const request = await guardPrompt(c, asked);
  const user = userOf(c, request.user);
  assertModelAllowed(c.get("principal"), request.model);
  const route = await timed(record, "route", () => findRoute(c, request.model, user));
  record.model = route.model;
  record.version = route.version;
  record.variant = route.variant;
  begin(c, route, user, request);
  if (gateway.config.models[route.model]?.task === "embed") {
    const message = `The model \`${route.model}\` makes vectors (its task is embed): ask it at /v1/embeddings.`;
    throw new ApiError(400, "wrong_task", message, { param: "model" });
  }
  if (gateway.config.log.prompts) record.prompt = request.messages.map(({ content }) => textOf(content)).join("\n");
  const abort = Switch.under(c.get("presence").left);
  return along({ c, request, user, abort }, route);
}

/** The same request on the way to another version. Throws the 400 of a prompt that its window can't hold. */
export function along({ c, request, user, abort }: Omit<Trip, "chain" | "legs">, route: Route): Trip {
  const legs = new Map([[route, new Leg(request, route)]]);
  const admit = (found: Route) => {
    const leg = new Leg(request, found);
    // A window that would cut the answer short is as good as one that is too small.
    if (leg.maxTokens < Math.min(leg.askedTokens, LEAST_ROOM)) throw new RangeError("no room for an answer");
    legs.set(found, leg);
  };
  return { c, request, user, abort, legs, chain: chainOf(c, route, user, admit) };
}

export function legOf({ legs, request }: Trip, route: Route): Leg {
  return legs.get(route) ?? new Leg(request, route);
}

export function callOf(trip: Trip, { route, abort, rejectIfBusy }: Try): Call {
  const { c, user } = trip;
  const gateway = c.get("gateway");
  const record = c.get("record");
  const { messages, parameters } = legOf(trip, route);
  return {
    version: route.spec,
    messages,
    parameters,
    session: affinityOf(record.tenant, user),
    gateway: gateway.config.gateway,
    signal: abort.signal,
    traceparent: record.traceparent ?? undefined,
    rejectIfBusy,
  };
}

export function nameAt({ c }: Trip, route: Route, degraded?: "stale" | "default"): AnswerName {
  const gateway = c.get("gateway");
  const record = c.get("record");
  return {
    id: `chatcmpl-${record.id}`,
    created: Math.floor(record.startedAt / 1000),
    model: refOf(route),
    release: gateway.config.release,
    ...(degraded !== undefined && { degraded }),
  };
}
