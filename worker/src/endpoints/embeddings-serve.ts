import { assertModelAllowed } from "../access/allowed.ts";
import type { Embeddings, EmbedInput, Usage } from "../backends/backend.ts";
import { backendOf } from "../backends/choose.ts";
import { type Reservation, reserve } from "../budget/reserve.ts";
import { orAbort } from "../chat/deadlines.ts";
import { ApiError } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";
import { mask } from "../guard/mask.ts";
import { note } from "../guard/note.ts";
import { begin } from "../outcomes/evidence.ts";
import { timed } from "../record.ts";
import { attempt, type Try } from "../resilience/attempt.ts";
import { chainOf } from "../resilience/chain.ts";
import { findRoute, userOf } from "../routing/find.ts";
import type { Route } from "../routing/route.ts";
import { estimateTokens } from "../tokens/estimate.ts";
import { checkWindow } from "../tokens/window.ts";
import type { EmbeddingsRequest } from "./embeddings-request.ts";

export interface ServedEmbeddings {
  readonly vectors: readonly (readonly number[])[];
  readonly usage: Usage;
  /** The version that answered. */
  readonly route: Route;
}

/** Has texts turned into vectors by the model's version, or one that stands in for it. Throws `ApiError` for every failure. */
export async function serveEmbeddings(c: GatewayContext, asked: EmbeddingsRequest): Promise<ServedEmbeddings> {
  const request = { ...asked, input: masked(c, asked.input) };
  const record = c.get("record");
  const principal = c.get("principal");
  const gateway = c.get("gateway");
  const user = userOf(c, request.user);
  assertModelAllowed(principal, request.model);
  const first = await timed(record, "route", () => findRoute(c, request.model, user));
  record.model = first.model;
  record.version = first.version;
  record.variant = first.variant;
  begin(c, first, user);
  record.cache = "bypass";
  if (gateway.config.log.prompts) record.prompt = request.input.map(String).join("\n");
  const check = (route: Route) => checkRoute(c, route, request.input);
  check(first);
  const chain = chainOf(c, first, user, check);
  const { signal } = c.req.raw;
  const holding = await EmbedHolding.open(c, first, tokensOf(request.input));
  try {
    const { value, route } = await attempt(c, chain, {
      signal,
      prepare: (found) => holding.moveTo(found),
      run: (call) => timed(record, "backend", () => holding.during(() => embed(c, request, call))),
    });
    return { vectors: value.vectors, usage: holding.settle(value.usage), route };
  } catch (error) {
    holding.abandon();
    throw error;
  }
}

/** Texts as they may leave the gateway. They are data, not talk: no injection is looked for in them. */
function masked(c: GatewayContext, input: readonly EmbedInput[]): readonly EmbedInput[] {
  if (!c.get("gateway").config.guard.mask_prompts) return input;
  return input.map((item) => {
    if (typeof item !== "string") return item;
    const { text, kinds } = mask(item);
    for (const kind of kinds) note(c, `prompt:${kind}`);
    return text;
  });
}

function embed(c: GatewayContext, { input, dimensions }: EmbeddingsRequest, call: Try): Promise<Embeddings> {
  const { config } = c.get("gateway");
  const { spec } = call.route;
  return orAbort(config.timeouts.answer_ms - call.spentMs, call.abort, () =>
    backendOf(spec, c.env).embed({
      version: spec,
      input,
      dimensions,
      gateway: config.gateway,
      signal: call.abort.signal,
      traceparent: c.get("record").traceparent ?? undefined,
      rejectIfBusy: call.rejectIfBusy,
    }),
  );
}

/** Throws the 400 of a model that makes no vectors, or of a text that its window can't hold. */
function checkRoute(c: GatewayContext, { model, spec }: Route, input: readonly EmbedInput[]): void {
  const { task } = c.get("gateway").config.models[model] ?? {};
  if (task !== "embed") {
    const message = `The model \`${model}\` makes no vectors (its task is ${task}).`;
    throw new ApiError(400, "wrong_task", message, { param: "model" });
  }
  // Each text is read by itself.
  for (const item of input) {
    if (typeof item === "string") checkWindow(spec, [{ role: "user", content: item }], 0);
  }
}

/** What a request for vectors holds of its budgets, for one version at a time. The first call that ends it counts. */
class EmbedHolding {
  readonly #c: GatewayContext;
  readonly #promptTokens: number;
  #route: Route;
  #held: Reservation;
  #calling = false;

  private constructor(c: GatewayContext, route: Route, promptTokens: number, held: Reservation) {
    this.#c = c;
    this.#route = route;
    this.#promptTokens = promptTokens;
    this.#held = held;
  }

  static async open(c: GatewayContext, route: Route, promptTokens: number): Promise<EmbedHolding> {
    return new EmbedHolding(c, route, promptTokens, await hold(c, route, promptTokens));
  }

  async moveTo(route: Route): Promise<void> {
    if (route === this.#route) return;
    this.#held.release();
    this.#route = route;
    this.#held = await hold(this.#c, route, this.#promptTokens);
  }

  /** Runs a call, so that one whose client leaves is known to have cost something. */
  async during<T>(call: () => Promise<T>): Promise<T> {
    this.#calling = true;
    try {
      return await call();
    } finally {
      this.#calling = this.#c.req.raw.signal.aborted;
    }
  }

  settle(told: Usage | null): Usage {
    const tokens = this.#promptTokens;
    const usage = told ?? { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens, estimated: true };
    const record = this.#c.get("record");
    record.usage = usage;
    record.usageEstimated = usage.estimated === true;
    record.costUsd = this.#held.settle(usage, this.#route.spec);
    return usage;
  }

  /** A failed call costs nothing; one whose client left is paid for, since the model reads on. */
  abandon(): void {
    if (this.#calling) this.settle(null);
    else this.#held.release();
  }
}

async function hold(c: GatewayContext, { spec }: Route, promptTokens: number): Promise<Reservation> {
  const held = await timed(c.get("record"), "budget", () => reserve(c, { promptTokens, mostTokens: 0, spec }));
  if (!held.insteadOf) return held;
  held.release();
  // Vectors of two models can't be compared: there is no cheaper one to fall to.
  throw new ApiError(402, "budget_exceeded", "The budget of this caller is used up.");
}

function tokensOf(input: readonly EmbedInput[]): number {
  return input.reduce((sum, item) => sum + (typeof item === "string" ? estimateTokens(item) : item.length), 0);
}
