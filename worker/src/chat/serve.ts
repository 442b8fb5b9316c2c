import type { Answer, Call, Message, Piece, Usage } from "../backends/backend.ts";
import { backendOf } from "../backends/choose.ts";
import { type Reservation, reserve } from "../budget/reserve.ts";
import { cacheKey } from "../cache/key.ts";
import { sha256Hex } from "../digest.ts";
import type { GatewayContext } from "../gateway.ts";
import { guardAnswer, guardPieces } from "../guard/answer.ts";
import { guardPrompt } from "../guard/prompt.ts";
import { timed } from "../record.ts";
import { clientAddress } from "../routing/client.ts";
import { type Route, routeTo } from "../routing/route.ts";
import { controllerOf } from "../routing/table.ts";
import { estimateTokens, estimateUsage, textOf } from "../tokens/estimate.ts";
import { checkWindow } from "../tokens/window.ts";
import type { Collector } from "./collect.ts";
import { orAbort, withDeadlines } from "./deadlines.ts";
import { holdFirst } from "./hold.ts";
import { effective } from "./parameters.ts";
import { replay } from "./replay.ts";
import type { ChatRequest } from "./request.ts";
import type { AnswerName } from "./shapes.ts";

/** A request on its way: where it goes, under which key its answer is kept, how it is stopped. */
interface Trip {
  readonly c: GatewayContext;
  readonly request: ChatRequest;
  readonly route: Route;
  /** Null when the answer is neither sought nor kept in the cache. */
  readonly key: string | null;
  readonly call: Call;
  readonly abort: AbortController;
}

export interface ServedWhole {
  readonly name: AnswerName;
  readonly answer: Answer;
  readonly usage: Usage;
}

export interface ServedStream {
  readonly name: AnswerName;
  readonly pieces: AsyncGenerator<Piece, void, undefined>;
  readonly abort: AbortController;
  /** To be called once, with what was streamed, and whether that is the whole answer. */
  settle(streamed: Collector, whole: boolean): Usage;
}

/** Answers in one go. Throws `ApiError` for every failure. */
export async function serveWhole(c: GatewayContext, request: ChatRequest): Promise<ServedWhole> {
  const trip = await setOut(c, request);
  const kept = await fromCache(trip);
  if (kept !== null) return { name: nameOf(trip), answer: kept, usage: settle(trip, kept, null, false) };
  const held = await admit(trip);
  try {
    const answer = guardAnswer(c, await complete(trip));
    return { name: nameOf(trip), answer, usage: settle(trip, answer, held, true) };
  } catch (error) {
    held.release();
    throw error;
  }
}

function complete({ c, route, call, abort }: Trip): Promise<Answer> {
  const { answer_ms } = c.var.gateway.config.timeouts;
  const backend = backendOf(route.spec, c.env);
  return timed(c.var.record, "backend", () => orAbort(answer_ms, abort, () => backend.complete(call)));
}

/** Reserves what the request may come to at most. */
function admit({ c, call }: Trip): Promise<Reservation> {
  const promptTokens = call.messages.reduce((sum, { content }) => sum + estimateTokens(textOf(content)), 0);
  const worst = { promptTokens, maxTokens: Number(call.parameters.max_tokens), spec: call.version };
  return timed(c.var.record, "budget", () => reserve(c, worst));
}

/** Answers as a stream; resolves when the first content is there. Throws `ApiError` for a failure before that. */
export async function serveStream(c: GatewayContext, request: ChatRequest): Promise<ServedStream> {
  const trip = await setOut(c, request);
  const kept = await fromCache(trip);
  const held = kept === null ? await admit(trip) : null;
  try {
    const pieces = kept === null ? guardPieces(c, await openStream(trip)) : replay(kept);
    return {
      name: nameOf(trip),
      pieces,
      abort: trip.abort,
      settle: (streamed, whole) => settle(trip, streamed.answer(), held, whole && kept === null),
    };
  } catch (error) {
    held?.release();
    throw error;
  }
}

async function setOut(c: GatewayContext, asked: ChatRequest): Promise<Trip> {
  const { gateway, record } = c.var;
  const request = guardPrompt(c, asked);
  const user = request.user ?? (c.req.header("x-sluiceway-user") || `${record.tenant} ${clientAddress(c.req.raw)}`);
  const source = () => controllerOf(c.env, gateway.config);
  const splitOf = (model: string) => gateway.table.splitOf(model, source, (work) => c.executionCtx.waitUntil(work));
  const route = await timed(record, "route", () => routeTo(gateway.config, splitOf, request.model, user));
  record.model = route.model;
  record.version = route.version;
  record.variant = route.variant;
  if (gateway.config.log.prompts) record.prompt = request.messages.map(({ content }) => textOf(content)).join("\n");
  const abort = new AbortController();
  c.req.raw.signal.addEventListener("abort", () => abort.abort(c.req.raw.signal.reason));
  const call: Call = {
    version: route.spec,
    messages: [...ownPrompt(route), ...request.messages],
    parameters: effective(route.spec.parameters, request.parameters),
    session: (await sha256Hex(`${record.tenant}\n${user}`)).slice(0, 32),
    gateway: gateway.config.gateway,
    signal: abort.signal,
  };
  checkWindow(route.spec, call.messages, Number(call.parameters.max_tokens));
  return { c, request, route, key: await keyOf(c, request, route), call, abort };
}

/** The version's own system prompt comes before whatever the client says. */
function ownPrompt(route: Route): Message[] {
  return route.spec.prompt ? [{ role: "system", content: route.spec.prompt }] : [];
}

async function keyOf(c: GatewayContext, request: ChatRequest, route: Route): Promise<string | null> {
  const { gateway, record } = c.var;
  if (!gateway.cache.admits(request, c.req.raw.headers)) return null;
  const { model, version } = route;
  return cacheKey({ tenant: record.tenant, release: gateway.config.release, model, version, body: request.identity });
}

async function fromCache({ c, key }: Trip): Promise<Answer | null> {
  const { gateway, record } = c.var;
  record.cache = key === null ? "bypass" : "miss";
  if (key === null) return null;
  const kept = await timed(record, "cache", () => gateway.cache.find(c.env.CACHE, key));
  if (kept !== null) record.cache = "hit";
  return kept;
}

async function openStream(trip: Trip): Promise<AsyncGenerator<Piece, void, undefined>> {
  const { c, abort, call, route } = trip;
  const { first_token_ms: firstMs, idle_ms: idleMs } = c.var.gateway.config.timeouts;
  const backend = backendOf(route.spec, c.env);
  return timed(c.var.record, "backend", async () => {
    const pieces = await orAbort(firstMs, abort, () => backend.stream(call));
    return holdFirst(withDeadlines(pieces, { firstMs, idleMs }, abort));
  });
}

/** Books what the answer cost and, when it is whole and new, offers it to the cache. `held` null: it cost nothing. */
function settle({ c, key, call }: Trip, answer: Answer, held: Reservation | null, keep: boolean): Usage {
  const { gateway, record } = c.var;
  record.usageEstimated = answer.usage === null || answer.usage.estimated === true;
  record.usage = answer.usage ?? estimateUsage(call.messages, answer);
  record.costUsd = held?.settle(record.usage, call.version) ?? 0;
  if (keep && key !== null) {
    c.executionCtx.waitUntil(gateway.cache.keep(c.env.CACHE, key, { ...answer, usage: record.usage }));
  }
  return record.usage;
}

function nameOf({ c, route }: Trip): AnswerName {
  const { gateway, record } = c.var;
  return {
    id: `chatcmpl-${record.id}`,
    created: Math.floor(record.startedAt / 1000),
    model: `${route.model}@${route.version}`,
    release: gateway.config.release,
  };
}
