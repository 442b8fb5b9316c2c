import { modelAllowed } from "../access/allowed.ts";
import type { Answer } from "../backends/backend.ts";
import type { ChatRequest } from "../chat/request.ts";
import type { GatewayContext } from "../gateway.ts";
import type { Chain } from "../resilience/chain.ts";
import { refOf } from "../routing/find.ts";
import type { Route } from "../routing/route.ts";
import type { Soon } from "../soon.ts";
import type { Ending } from "../switch.ts";
import { isKeepable } from "./exact.ts";
import type { Leader, Shared } from "./flights.ts";
import { type CacheIdentity, cacheKey } from "./key.ts";
import { questionOf } from "./likeness.ts";
import type { Place } from "./semantic.ts";

/** Who waits for a stream waits for its end, where its own would have begun long before. */
const STREAM_PATIENCE_MS = 5_000;

/** One request at the cache: what it found, and what becomes of its own answer. */
export interface Visit {
  /** Null when the answer is neither sought nor kept. */
  readonly key: string | null;
  readonly answer: Answer | null;
  /** The version that gave the answer which was found. */
  readonly by: Route | null;
  /** Offers a whole new answer, by the version that gave it. */
  keep(answer: Answer, by: Route): void;
  /** To be called when the request is over, whatever became of it. `left`: its client is gone. */
  end(left: boolean): void;
}

const PASSED_BY: Visit = { key: null, answer: null, by: null, keep: () => {}, end: () => {} };

/**
 * Looks for the answer to a request: kept ones first, then one that an equal request is about to get, then one to
 * nearly the same question. Notes the outcome in the record. Throws only when the client leaves meanwhile.
 */
export function visitCache(
  c: GatewayContext,
  request: ChatRequest,
  chain: Pick<Chain, "first" | "hasOthers">,
  signal: Ending,
): Soon<Visit> {
  const admits = c.get("gateway").cache.admits(request, c.req.raw.headers);
  c.get("record").cache = admits ? "miss" : "bypass";
  return admits ? seek(c, request, chain, signal) : PASSED_BY;
}

async function seek(
  c: GatewayContext,
  request: ChatRequest,
  chain: Pick<Chain, "first" | "hasOthers">,
  signal: Ending,
): Promise<Visit> {
  const gateway = c.get("gateway");
  const route = chain.first;
  const identity = identityOf(c, request, route);
  const key = await cacheKey(identity);
  const kept = await gateway.cache.find(c.env.CACHE, key);
  if (kept !== null) return hit(c, key, { answer: kept, by: route, fallback: null });
  const { coalesce_ms } = gateway.config.cache;
  const patience = request.stream ? Math.min(coalesce_ms, STREAM_PATIENCE_MS) : coalesce_ms;
  const turn = await gateway.flights.turn(key, patience, signal);
  if (turn !== "alone" && "answer" in turn && mayHave(c, chain, turn)) return hit(c, key, turn);
  if (turn === "alone" || "answer" in turn) return new OpenVisit(c, request, route, key, null, null);
  // Another one may have led and ended while KV was asked, or between two looks.
  const late = gateway.cache.recent(key);
  if (late !== null) {
    const shared = { answer: late, by: route, fallback: null };
    turn.leader.share(shared);
    return hit(c, key, shared);
  }
  return compare(c, request, route, { identity, key, leader: turn.leader });
}

/** An answer of a stand-in is for those who would have gone to it themselves. */
function mayHave(c: GatewayContext, chain: Pick<Chain, "hasOthers">, { by, fallback }: Shared): boolean {
  return fallback === null || (chain.hasOthers && modelAllowed(c.get("principal"), refOf(by)));
}

function hit(c: GatewayContext, key: string, { answer, by, fallback }: Shared): Visit {
  c.get("record").cache = "hit";
  c.get("record").fallback = fallback ?? c.get("record").fallback;
  return { ...PASSED_BY, key, answer, by };
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
  const { semantic } = c.get("gateway");
  const question = semantic === null ? null : questionOf(request);
  if (semantic === null || question === null) return new OpenVisit(c, request, route, key, leader, null);
  const { answer, place } = await semantic.find(c, identity, question);
  if (answer === null) return new OpenVisit(c, request, route, key, leader, place);
  leader.share({ answer, by: route, fallback: null });
  c.get("record").cache = "semantic";
  return { ...PASSED_BY, key, answer, by: route };
}

class OpenVisit implements Visit {
  readonly key: string;
  readonly answer = null;
  readonly by = null;
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
    if (isKeepable(answer)) {
      this.#leader?.share({ answer, by, fallback: own ? null : this.#c.get("record").fallback });
    }
    this.#leader?.end(false);
    this.#c.executionCtx.waitUntil(this.#keep(answer, own ? null : by));
  }

  end(left: boolean): void {
    this.#leader?.end(left);
  }

  async #keep(answer: Answer, standIn: Route | null): Promise<void> {
    const gateway = this.#c.get("gateway");
    const store = this.#c.env.CACHE;
    const key = standIn === null ? this.key : await cacheKey(identityOf(this.#c, this.#request, standIn));
    const kept = await gateway.cache.keep(store, key, answer);
    if (kept && standIn === null && this.#place !== null) await gateway.semantic?.keep(store, this.#place, key);
  }
}

/** Whose answer to a request is kept as what. */
export function identityOf(c: GatewayContext, request: ChatRequest, { model, version }: Route): CacheIdentity {
  const gateway = c.get("gateway");
  const record = c.get("record");
  return { tenant: record.tenant, release: gateway.config.release, model, version, body: request.identity };
}
