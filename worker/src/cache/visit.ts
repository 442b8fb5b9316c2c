import type { Answer } from "../backends/backend.ts";
import type { ChatRequest } from "../chat/request.ts";
import type { GatewayContext } from "../gateway.ts";
import type { Route } from "../routing/route.ts";
import { isKeepable } from "./exact.ts";
import type { Leader } from "./flights.ts";
import { type CacheIdentity, cacheKey } from "./key.ts";
import { questionOf } from "./likeness.ts";
import type { Place } from "./semantic.ts";

/** One request at the cache: what it found, and what becomes of its own answer. */
export interface Visit {
  /** Null when the answer is neither sought nor kept. */
  readonly key: string | null;
  readonly answer: Answer | null;
  /** Offers a whole new answer, by the version that gave it. */
  keep(answer: Answer, by: Route): void;
  /** To be called when the request is over, whatever became of it. `left`: its client is gone. */
  end(left: boolean): void;
}

const PASSED_BY: Visit = { key: null, answer: null, keep: () => {}, end: () => {} };

/**
 * Looks for the answer to a request: kept ones first, then one that an equal request is about to get, then one to
 * nearly the same question. Notes the outcome in the record. Throws only when the client leaves meanwhile.
 */
export async function visitCache(
  c: GatewayContext,
  request: ChatRequest,
  route: Route,
  signal: AbortSignal,
): Promise<Visit> {
  const { gateway, record } = c.var;
  record.cache = "bypass";
  if (!gateway.cache.admits(request, c.req.raw.headers)) return PASSED_BY;
  record.cache = "miss";
  const identity = identityOf(c, request, route);
  const key = await cacheKey(identity);
  const kept = await gateway.cache.find(c.env.CACHE, key);
  if (kept !== null) return hit(c, key, kept);
  const turn = await gateway.flights.turn(key, gateway.config.cache.coalesce_ms, signal);
  if (turn === "alone") return new OpenVisit(c, request, route, key, null, null);
  if ("answer" in turn) return hit(c, key, turn.answer);
  // Another one may have led and ended while KV was asked, or between two looks.
  const late = gateway.cache.recent(key);
  if (late !== null) {
    turn.leader.share(late);
    return hit(c, key, late);
  }
  return compare(c, request, route, { identity, key, leader: turn.leader });
}

function hit(c: GatewayContext, key: string, answer: Answer): Visit {
  c.var.record.cache = "hit";
  return { ...PASSED_BY, key, answer };
}

interface Led {
  readonly identity: CacheIdentity;
  readonly key: string;
  readonly leader: Leader;
}

/** The way of the one who leads, by whose outcome the others go. */
async function compare(
  c: GatewayContext,
  request: ChatRequest,
  route: Route,
  { identity, key, leader }: Led,
): Promise<Visit> {
  const { semantic } = c.var.gateway;
  const question = semantic === null ? null : questionOf(request);
  if (semantic === null || question === null) return new OpenVisit(c, request, route, key, leader, null);
  const { answer, place } = await semantic.find(c, identity, question);
  if (answer === null) return new OpenVisit(c, request, route, key, leader, place);
  leader.share(answer);
  c.var.record.cache = "semantic";
  return { ...PASSED_BY, key, answer };
}

class OpenVisit implements Visit {
  readonly key: string;
  readonly answer = null;
  readonly #c: GatewayContext;
  readonly #request: ChatRequest;
  readonly #route: Route;
  readonly #leader: Leader | null;
  readonly #place: Place | null;

  constructor(
    c: GatewayContext,
    request: ChatRequest,
    route: Route,
    key: string,
    leader: Leader | null,
    place: Place | null,
  ) {
    this.#c = c;
    this.#request = request;
    this.#route = route;
    this.key = key;
    this.#leader = leader;
    this.#place = place;
  }

  keep(answer: Answer, by: Route): void {
    const own = by.model === this.#route.model && by.version === this.#route.version;
    // A stand-in's answer is not what those who wait have asked for.
    if (own && isKeepable(answer)) this.#leader?.share(answer);
    this.#leader?.end(false);
    this.#c.executionCtx.waitUntil(this.#keep(answer, own ? null : by));
  }

  end(left: boolean): void {
    this.#leader?.end(left);
  }

  async #keep(answer: Answer, standIn: Route | null): Promise<void> {
    const { gateway } = this.#c.var;
    const store = this.#c.env.CACHE;
    const key = standIn === null ? this.key : await cacheKey(identityOf(this.#c, this.#request, standIn));
    const kept = await gateway.cache.keep(store, key, answer);
    if (kept && standIn === null && this.#place !== null) await gateway.semantic?.keep(store, this.#place, key);
  }
}

function identityOf(c: GatewayContext, request: ChatRequest, { model, version }: Route): CacheIdentity {
  const { gateway, record } = c.var;
  return { tenant: record.tenant, release: gateway.config.release, model, version, body: request.identity };
}
