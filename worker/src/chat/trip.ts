import { assertModelAllowed } from "../access/allowed.ts";
import type { Call, Message } from "../backends/backend.ts";
import type { GatewayContext } from "../gateway.ts";
import { guardPrompt } from "../guard/prompt.ts";
import { timed } from "../record.ts";
import type { Try } from "../resilience/attempt.ts";
import { type Chain, chainOf } from "../resilience/chain.ts";
import { affinityOf } from "../routing/affinity.ts";
import { findRoute, refOf, userOf } from "../routing/find.ts";
import type { Route } from "../routing/route.ts";
import { textOf } from "../tokens/estimate.ts";
import { checkWindow } from "../tokens/window.ts";
import { effective } from "./parameters.ts";
import type { ChatRequest } from "./request.ts";
import type { AnswerName } from "./shapes.ts";

/** A request on its way: where it goes, and how it is stopped. */
export interface Trip {
  readonly c: GatewayContext;
  readonly request: ChatRequest;
  readonly user: string;
  readonly chain: Chain;
  /** Aborts when the client leaves. */
  readonly abort: AbortController;
}

export async function setOut(c: GatewayContext, asked: ChatRequest): Promise<Trip> {
  const { gateway, record } = c.var;
  const request = guardPrompt(c, asked);
  const user = userOf(c, request.user);
  assertModelAllowed(c.var.principal, request.model);
  const route = await timed(record, "route", () => findRoute(c, request.model, user));
  record.model = route.model;
  record.version = route.version;
  record.variant = route.variant;
  if (gateway.config.log.prompts) record.prompt = request.messages.map(({ content }) => textOf(content)).join("\n");
  const abort = new AbortController();
  const { signal } = c.req.raw;
  const leave = () => abort.abort(signal.reason);
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave);
  return along({ c, request, user, abort }, route);
}

/** The same request on the way to another version. Throws the 400 of a prompt that its window can't hold. */
export function along(trip: Omit<Trip, "chain">, route: Route): Trip {
  const { c, request, user, abort } = trip;
  const fits = (found: Route) => {
    checkWindow(found.spec, messagesTo(request, found), maxTokensAt(request, found));
  };
  fits(route);
  return { c, request, user, chain: chainOf(c, route, user, fits), abort };
}

export function callOf({ c, request, user }: Trip, { route, abort, rejectIfBusy }: Try): Call {
  const { gateway, record } = c.var;
  return {
    version: route.spec,
    messages: messagesTo(request, route),
    parameters: effective(route.spec.parameters, request.parameters),
    session: affinityOf(record.tenant, user),
    gateway: gateway.config.gateway,
    signal: abort.signal,
    traceparent: record.traceparent ?? undefined,
    rejectIfBusy,
  };
}

/** The version's own system prompt comes before whatever the client says. */
export function messagesTo(request: ChatRequest, route: Route): readonly Message[] {
  return route.spec.prompt ? [{ role: "system", content: route.spec.prompt }, ...request.messages] : request.messages;
}

export function maxTokensAt(request: ChatRequest, route: Route): number {
  return Number(effective(route.spec.parameters, request.parameters).max_tokens);
}

export function nameAt({ c }: Trip, route: Route, degraded?: "stale" | "default"): AnswerName {
  const { gateway, record } = c.var;
  return {
    id: `chatcmpl-${record.id}`,
    created: Math.floor(record.startedAt / 1000),
    model: refOf(route),
    release: gateway.config.release,
    ...(degraded !== undefined && { degraded }),
  };
}
