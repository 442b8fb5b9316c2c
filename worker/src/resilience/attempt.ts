import { ApiError, asApiError } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";
import { faltered } from "../outcomes/evidence.ts";
import { timed } from "../record.ts";
import { refOf } from "../routing/find.ts";
import type { Route } from "../routing/route.ts";
import type { Soon } from "../soon.ts";
import { type Ender, type Ending, Switch } from "../switch.ts";
import type { Chain } from "./chain.ts";
import { type Failure, type FallbackReason, failureOf, retryAfterMs } from "./failures.ts";
import type { BackendHealth } from "./health.ts";
import { jitter, pause } from "./pause.ts";

/** One call to one backend. */
export interface Try {
  readonly route: Route;
  /** Ends this call alone; aborts with the client's signal too. */
  readonly abort: Ender;
  /** Whether another version answers when this one is busy. */
  readonly rejectIfBusy: boolean;
  /** Milliseconds since this version was first asked: all its tries share one version's time. */
  readonly spentMs: number;
}

export interface Steps<T> {
  /** Aborts when the client leaves: then nothing is tried any more. */
  readonly signal: Ending;
  /** A streamed value is only the beginning of an answer; whoever reads it notes how it ended (`noteEnd`). */
  readonly streamed?: boolean;
  /** Before the first call to a version. Its failure is the request's for the first version; others are passed over. */
  prepare?(route: Route): Soon<void>;
  run(call: Try): Soon<T>;
}

export interface Attempted<T> {
  readonly value: T;
  readonly route: Route;
}

/** No backend of the chain had an answer. */
export class NoAnswer extends ApiError {}

interface Refusal {
  readonly route: Route;
  readonly reason: FallbackReason;
  readonly error: ApiError;
}

/** A day's quota that is used up comes back some time; asking a while later is soon enough. */
const QUOTA_MS = 60_000;

/** `retry-after` of a 429 whose backend named no time. */
const DEFAULT_RETRY_AFTER = "10";

/**
 * Calls the chain's backends, each as often as its health and the stage's settings allow, until one answers; notes
 * retries and fallback in the record. Throws `NoAnswer` when none does; the error itself when it is the client's fault
 * or ours; the signal's reason when the client leaves.
 */
export function attempt<T>(c: GatewayContext, chain: Chain, steps: Steps<T>): Promise<Attempted<T>> {
  return new Attempts(c, chain, steps).go();
}

class Attempts<T> {
  readonly #c: GatewayContext;
  readonly #chain: Chain;
  readonly #steps: Steps<T>;
  readonly #refusals: Refusal[] = [];
  #calls = 0;
  /** Milliseconds that this request has waited for backends at their limit. */
  #queued = 0;

  constructor(c: GatewayContext, chain: Chain, steps: Steps<T>) {
    this.#c = c;
    this.#chain = chain;
    this.#steps = steps;
  }

  async go(): Promise<Attempted<T>> {
    const first = await this.#ask(this.#chain.first, this.#chain.hasOthers);
    if (first !== null) return first;
    const others = this.#chain.hasOthers ? await this.#chain.others() : [];
    for (const [index, route] of others.entries()) {
      const answered = await this.#ask(route, index + 1 < others.length);
      if (answered === null) continue;
      this.#c.get("record").fallback = { model: refOf(route), reason: this.#refusals[0]?.reason ?? "error" };
      return answered;
    }
    const late = others.length === 0 && this.#isHearsay ? await this.#askAfterAll() : null;
    if (late !== null) return late;
    throw this.#noAnswer();
  }

  /** Whether the first version was passed over, unasked, for stand-ins that its limit made it look worth while to ask. */
  get #isHearsay(): boolean {
    return this.#chain.hasOthers && this.#calls === 0 && this.#refusals[0]?.reason !== "circuit_open";
  }

  /** None of those that may stand in can take this very request. */
  #askAfterAll(): Promise<Attempted<T> | null> {
    this.#refusals.length = 0;
    return this.#ask(this.#chain.first, false);
  }

  /** What one version says; null when it has no answer, with the reason among the refusals. */
  async #ask(route: Route, more: boolean): Promise<Attempted<T> | null> {
    const health = this.#c.get("gateway").health.of(route.spec);
    if (health.breaker.openForMs > 0) return this.#refuse(route, "circuit_open", circuitOpen(route, health));
    if (!(await this.#awaitTurn(route, health, more)) || !(await this.#isPrepared(route))) return null;
    const { attempts } = this.#c.get("gateway").config.resilience;
    health.retries.earn();
    let last: Failure | null = null;
    let sick = false;
    const since = performance.now();
    for (let call = 1; ; call++) {
      this.#steps.signal.throwIfAborted();
      // Asked anew for each call: the circuit may have opened meanwhile, by this request's failure or by others'.
      if (!health.breaker.admits()) break;
      const spentMs = performance.now() - since;
      const outcome = await this.#call(
        { route, abort: Switch.under(this.#steps.signal), rejectIfBusy: more, spentMs },
        health,
      );
      if (!("failure" in outcome)) return outcome;
      const { failure } = outcome;
      // Once a request: else one that no backend can answer would count as many.
      health.failed(sick ? { ...failure, sick: false } : failure, this.#afterMs(failure));
      sick ||= failure.sick;
      if (failure.sick && route === this.#chain.first) faltered(this.#c);
      last = failure;
      const wait = call < attempts ? this.#waitBefore(failure, health, call) : null;
      if (wait === null) break;
      await this.#pause(wait);
    }
    if (last === null) return this.#refuse(route, "circuit_open", circuitOpen(route, health));
    return this.#refuse(route, last.reason, last.error);
  }

  /** Milliseconds for which a backend at its limit wants to be left alone, if it said. */
  #afterMs({ error, reason }: Failure): number | null {
    if (reason !== "rate_limited" && reason !== "quota_exceeded") return null;
    return retryAfterMs(error, this.#c.get("gateway").ambient.now()) ?? (reason === "quota_exceeded" ? QUOTA_MS : null);
  }

  async #call(call: Try, health: BackendHealth): Promise<Attempted<T> | { failure: Failure }> {
    const record = this.#c.get("record");
    const { signal, streamed } = this.#steps;
    record.retries = this.#calls++;
    try {
      const value = await this.#steps.run(call);
      if (streamed) health.breaker.began();
      else health.succeeded();
      return { value, route: call.route };
    } catch (error) {
      call.abort.abort(error);
      const failure = signal.aborted ? null : this.#failureAt(call.route, error);
      if (failure === null) {
        health.breaker.ended();
        throw signal.aborted ? signal.reason : error;
      }
      return { failure };
    }
  }

  /** A stand-in that finds fault with the request (it sees no pictures, say) is no reason to blame the client. */
  #failureAt(route: Route, error: unknown): Failure | null {
    const failure = failureOf(error);
    if (failure !== null || route === this.#chain.first || !(error instanceof ApiError)) return failure;
    return { error, reason: "unavailable", retry: false, sick: false };
  }

  /** Milliseconds to wait before the same backend is asked again, or null when it is not. */
  #waitBefore(failure: Failure, health: BackendHealth, retry: number): number | null {
    if (!failure.retry) return null;
    const { config, ambient } = this.#c.get("gateway");
    const limited = failure.reason === "rate_limited";
    const told = this.#afterMs(failure);
    // Who comes back when the backend said so is no burden to it.
    if (told === null && !health.retries.spend()) return null;
    const spread = jitter(config.resilience, told === null ? retry : 1, ambient.random());
    return limited ? this.#queue((told ?? 0) + spread, told ?? 0) : spread;
  }

  /** Waits, if that is soon, until a backend that named a time takes requests again. False: on to the next version. */
  #awaitTurn(route: Route, health: BackendHealth, more: boolean): Soon<boolean> {
    const limitedFor = health.limitedForMs;
    return limitedFor === 0 || this.#queueUp(route, health, more, limitedFor);
  }

  async #queueUp(route: Route, health: BackendHealth, more: boolean, limitedFor: number): Promise<boolean> {
    const { config, ambient } = this.#c.get("gateway");
    const wait = this.#queue(limitedFor + jitter(config.resilience, 1, ambient.random()), limitedFor);
    if (wait !== null) await this.#pause(wait);
    // With no one to stand in, asking is better than refusing on hearsay.
    if (wait !== null || !more) return true;
    this.#refuse(route, health.limit?.reason ?? "rate_limited", atLimit(route, health));
    return false;
  }

  #pause(ms: number): Soon<void> {
    return timed(this.#c.get("record"), "wait", () => pause(ms, this.#steps.signal));
  }

  /** Takes `wait` from what the request may queue, or gives null when the `least` of it is more than is left. */
  #queue(wait: number, least: number): number | null {
    const left = this.#c.get("gateway").config.resilience.queue_ms - this.#queued;
    if (left <= 0 || least > left) return null;
    this.#queued += wait;
    return wait;
  }

  #isPrepared(route: Route): Soon<boolean> {
    const preparing = this.#steps.prepare?.(route);
    return preparing instanceof Promise ? this.#hasPrepared(route, preparing) : true;
  }

  async #hasPrepared(route: Route, preparing: Promise<void>): Promise<boolean> {
    try {
      await preparing;
      return true;
    } catch (error) {
      if (route === this.#chain.first || !(error instanceof ApiError)) throw error;
      this.#refuse(route, "budget", error);
      return false;
    }
  }

  #refuse(route: Route, reason: FallbackReason, error: ApiError): null {
    this.#refusals.push({ route, reason, error });
    return null;
  }

  /** One error for all: the first version's, which the client asked for, with a word on the others. */
  #noAnswer(): NoAnswer {
    const [first, ...rest] = this.#refusals;
    const { status, code, message, param, headers } = first?.error ?? asApiError(null);
    const again = first?.reason === "quota_exceeded" ? String(QUOTA_MS / 1_000) : DEFAULT_RETRY_AFTER;
    const others = rest.map(({ route, error }) => `${refOf(route)} (${error.code})`).join(", ");
    return new NoAnswer(status, code, others === "" ? message : `${message} Nor did others answer: ${others}.`, {
      ...(param !== null && { param }),
      headers: status === 429 ? { "retry-after": again, ...headers } : headers,
      cause: first?.error,
    });
  }
}

function atLimit(route: Route, { limit, limitedForMs }: BackendHealth): ApiError {
  const seconds = Math.ceil(limitedForMs / 1000);
  const code = limit?.error.code ?? "upstream_rate_limited";
  const headers = { "retry-after": String(seconds) };
  return new ApiError(429, code, `${refOf(route)} is at its limit, and is asked again in ${seconds} s.`, { headers });
}

function circuitOpen(route: Route, { breaker, lastFailure }: BackendHealth): ApiError {
  const seconds = Math.max(1, Math.ceil(breaker.openForMs / 1000));
  const message = `${refOf(route)} has failed again and again, and is asked again in ${seconds} s (last: ${lastFailure}).`;
  return new ApiError(503, "backend_unavailable", message, { headers: { "retry-after": String(seconds) } });
}
