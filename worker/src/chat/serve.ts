import { modelAllowed } from "../access/allowed.ts";
import type { Answer, Usage } from "../backends/backend.ts";
import { backendOf } from "../backends/choose.ts";
import { Given, Passed, type Pieces } from "../backends/pieces.ts";
import { countFree } from "../budget/reserve.ts";
import { cacheKey } from "../cache/key.ts";
import { identityOf, type Visit, visitCache } from "../cache/visit.ts";
import type { GatewayContext } from "../gateway.ts";
import { answerGuard, guardAnswer } from "../guard/answer.ts";
import { gone, heard } from "../outcomes/evidence.ts";
import { timed } from "../record.ts";
import { type Attempted, attempt, NoAnswer, type Try } from "../resilience/attempt.ts";
import { wantsNoOther } from "../resilience/chain.ts";
import { degradedAnswer } from "../resilience/degrade.ts";
import { noteEnd } from "../resilience/health.ts";
import { findRoute, refOf } from "../routing/find.ts";
import type { Route } from "../routing/route.ts";
import type { Ender } from "../switch.ts";
import { Collector } from "./collect.ts";
import { orAbort } from "./deadlines.ts";
import { beginStream } from "./hold.ts";
import { budgetSpent, Holding } from "./holding.ts";
import { replay } from "./replay.ts";
import type { ChatRequest } from "./request.ts";
import type { AnswerName } from "./shapes.ts";
import { along, callOf, nameAt, setOut, type Trip } from "./trip.ts";

export interface ServedWhole {
  readonly name: AnswerName;
  readonly answer: Answer;
  readonly usage: Usage;
}

export interface ServedStream {
  readonly name: AnswerName;
  readonly pieces: Pieces;
  /** Ends it all: to be aborted when the client leaves. */
  readonly abort: Ender;
  /** To be called with what was streamed, and whether that is the whole answer. The first call counts. */
  settle(streamed: Collector, whole: boolean): Usage;
}

/** An answer that costs nothing: kept from before, or the stage's own. */
interface Kept {
  readonly name: AnswerName;
  readonly answer: Answer;
  readonly route: Route;
}

/** What a request that must be answered by a backend sets out with. */
interface Fare {
  readonly trip: Trip;
  readonly holding: Holding;
  readonly visit: Visit;
}

/** A budget for the key, one for its team, one for the stage: each may name a cheaper model. */
const MOST_FALLS = 3;

/** Answers in one go. Throws `ApiError` for every failure. */
export async function serveWhole(c: GatewayContext, request: ChatRequest): Promise<ServedWhole> {
  const start = await depart(await setOut(c, request));
  if (!("holding" in start)) return free(c, start);
  const { trip, holding, visit } = start;
  try {
    const { value, route } = await ask(trip, holding, false, (call) => complete(trip, call));
    // Before it is looked over: its tokens are spent, whatever becomes of it.
    const usage = holding.settle(value);
    heard(c, request.parameters, value);
    const answer = guardAnswer(c, value);
    visit.keep({ ...answer, usage }, route);
    return { name: nameAt(trip, route), answer, usage };
  } catch (error) {
    holding.abandon();
    visit.end(trip.abort.signal.aborted);
    return free(c, await degrade(start, error));
  }
}

/** Answers as a stream; resolves when the first content is there. Throws `ApiError` for a failure before that. */
export async function serveStream(c: GatewayContext, request: ChatRequest): Promise<ServedStream> {
  const asked = await setOut(c, request);
  const start = await depart(asked);
  if (!("holding" in start)) return replayed(asked, start);
  const { trip, holding, visit } = start;
  try {
    const { value, route } = await ask(trip, holding, true, (call) => stream(trip, call));
    const { pieces, said } = lookedOver(c, value);
    const settle = (streamed: Collector, whole: boolean) => {
      const answer = streamed.answer();
      const told = said === null ? answer : said.answer();
      const usage = holding.settle(told);
      heard(c, request.parameters, told);
      if (whole) visit.keep({ ...answer, usage }, route);
      visit.end(trip.abort.signal.aborted);
      return usage;
    };
    return { name: nameAt(trip, route), pieces, abort: trip.abort, settle };
  } catch (error) {
    holding.abandon();
    visit.end(trip.abort.signal.aborted);
    return replayed(trip, await degrade(start, error));
  }
}

/**
 * The pieces that the client may see, and what the model has said of which these are a part: what nobody may see has its
 * price too. Null: the client sees all of it.
 */
function lookedOver(c: GatewayContext, pieces: Pieces): { pieces: Pieces; said: Collector | null } {
  const guard = answerGuard(c);
  if (guard === null) return { pieces, said: null };
  const said = new Collector();
  const shown = new Passed(pieces, (batch) => {
    for (const piece of batch.pieces) said.add(piece);
    return guard(batch);
  });
  return { pieces: shown, said };
}

/**
 * All that comes before a backend is asked: an answer from the cache, or the request with what it holds of its budgets.
 * Over a budget it goes to a cheaper model, which another budget may not allow either.
 */
async function depart(trip: Trip): Promise<Kept | Fare> {
  const { c } = trip;
  let start = await board(trip);
  for (let fall = 0; "holding" in start && start.holding.insteadOf !== null; fall++) {
    const wanted = start.holding.insteadOf;
    start.holding.release();
    start.visit.end(false);
    if (fall === MOST_FALLS || wantsNoOther(c) || !modelAllowed(c.get("principal"), wanted)) throw budgetSpent();
    const route = await findRoute(c, wanted, trip.user);
    c.get("record").fallback = { model: refOf(route), reason: "budget" };
    gone(c);
    start = await board(along(trip, route));
  }
  return start;
}

async function board(trip: Trip): Promise<Kept | Fare> {
  const { c, request, chain, abort } = trip;
  const visit = await timed(c.get("record"), "cache", () => visitCache(c, request, chain, abort.signal));
  if (visit.answer !== null) {
    const route = visit.by ?? chain.first;
    return { name: nameAt(trip, route), answer: visit.answer, route };
  }
  try {
    return { trip, visit, holding: await Holding.open(trip) };
  } catch (error) {
    visit.end(abort.signal.aborted);
    throw error;
  }
}

function free(c: GatewayContext, kept: Kept): ServedWhole {
  // It may be older than what the stage now lets through.
  return { name: kept.name, answer: guardAnswer(c, kept.answer), usage: bookFree(c, kept) };
}

/** Notes an answer that costs nothing. */
function bookFree(c: GatewayContext, { answer, route }: Kept): Usage {
  const record = c.get("record");
  const usage = answer.usage ?? { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  record.usage = usage;
  record.usageEstimated = usage.estimated === true;
  // Unless looking for it had its price.
  record.costUsd ??= 0;
  countFree(c, route.spec);
  return usage;
}

function replayed({ c, abort }: Trip, kept: Kept): ServedStream {
  const pieces = new Given(replay(guardAnswer(c, kept.answer)));
  return { name: kept.name, pieces, abort, settle: () => bookFree(c, kept) };
}

function ask<T>(
  trip: Trip,
  holding: Holding,
  streamed: boolean,
  run: (call: Try) => Promise<T>,
): Promise<Attempted<T>> {
  return attempt(trip.c, trip.chain, {
    signal: trip.abort.signal,
    streamed,
    prepare: (route) => holding.moveTo(route),
    run: (call) => timed(trip.c.get("record"), "backend", () => holding.during(() => run(call))),
  });
}

function complete(trip: Trip, call: Try): Promise<Answer> {
  const { c } = trip;
  const { answer_ms } = c.get("gateway").config.timeouts;
  const backend = backendOf(call.route.spec, c.env);
  return orAbort(answer_ms - call.spentMs, call.abort, () => backend.complete(callOf(trip, call)));
}

function stream(trip: Trip, call: Try): Promise<Pieces> {
  const { c } = trip;
  const { first_token_ms, idle_ms: idleMs, stream_ms } = c.get("gateway").config.timeouts;
  const silence = { firstMs: first_token_ms - call.spentMs, idleMs, wholeMs: stream_ms - call.spentMs };
  const backend = backendOf(call.route.spec, c.env);
  const health = c.get("gateway").health.of(call.route.spec);
  const ended = (error: unknown) => noteEnd(health, error);
  return beginStream(() => backend.stream(callOf(trip, call)), silence, call.abort, ended);
}

/** What the stage gives in place of an answer that no backend had. Throws the failure when that is nothing. */
async function degrade({ trip, visit }: Fare, error: unknown): Promise<Kept> {
  // A model that this gateway never runs is no bad day: whoever asks it should know.
  if (!(error instanceof NoAnswer) || error.status === 501) throw error;
  const { c, chain, request } = trip;
  // A model at its limit is not down, and waiting helps: the client is told how long.
  const textless = error.status === 429 || wantsNoOther(c) || wantsJson(request);
  const instead = await degradedAnswer(c, () => keysOf(trip, visit.key), chain.first, textless);
  if (instead === null) throw error;
  const { how, answer, route } = instead;
  c.get("record").degraded = how;
  if (route !== chain.first) c.get("record").fallback = { model: refOf(route), reason: "unavailable" };
  c.get("record").errorCode = error.code;
  return { name: nameAt(trip, route, how), answer, route };
}

/** Where an answer to the request may be kept: the one that was asked for, then those of its stand-ins. */
async function* keysOf({ c, chain, request }: Trip, key: string | null): AsyncGenerator<readonly [string, Route]> {
  if (key === null) return;
  yield [key, chain.first];
  const others = chain.hasOthers ? await chain.others() : [];
  for (const route of others) yield [await cacheKey(identityOf(c, request, route)), route];
}

/** Who asked for JSON parses what it gets; a sentence would break it in a place far from the cause. */
function wantsJson({ parameters }: ChatRequest): boolean {
  const { type } = (parameters.response_format ?? {}) as { type?: unknown };
  return type !== undefined && type !== "text";
}
