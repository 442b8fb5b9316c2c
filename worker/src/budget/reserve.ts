import type { Usage } from "../backends/backend.ts";
import type { ModelVersion } from "../config.ts";
import type { GatewayContext } from "../gateway.ts";
import { within } from "../patience.ts";
import { clientAddress } from "../routing/client.ts";
import type { Soon } from "../soon.ts";
import type { Account, Hold } from "./account.ts";
import { ledgerOf } from "./accounts.ts";
import { type Claim, claimsOf, isLimited, isServed, keyName } from "./claims.ts";
import { costOf, overstatesCache, type Tokens, tokensIn, worstOf } from "./cost.ts";
import { usdOf } from "./money.ts";
import { dayOf } from "./periods.ts";
import type { SpendLine, Verdict } from "./protocol.ts";
import { isBusy, ledgerUnavailable, overBudget, overTokens, promptOverTokens } from "./refusal.ts";

/** The most that a request may come to. */
export interface WorstCase {
  readonly promptTokens: number;
  /** Of all choices together. */
  readonly mostTokens: number;
  readonly spec: ModelVersion;
}

/** What a request holds of its budgets while it runs. The first call of either ends it; later ones do nothing. */
export interface Reservation {
  /** The model to go to in place of this one, as its budget is used up; nothing is held then. Null: go on. */
  readonly insteadOf: string | null;
  /** Books what it really came to, by the version that answered; gives that in US dollars. */
  settle(usage: Usage, spec: ModelVersion): number;
  /** Gives everything back: nothing was spent. */
  release(): void;
}

/** Longest wait for a ledger. */
const PATIENCE_MS = 3_000;
/** How long a ledger holds an amount for a request whose end it never hears of, beyond the longest answer. */
const HOLD_MS = 15 * 60_000;
/** How long an isolate remembers that a budget is used up. */
const REFUSED_MS = 1_000;

/** Admits a request to its budgets and token limits, or throws the 402 or 429 in OpenAI's shape. */
export function reserve(c: GatewayContext, worst: WorstCase): Soon<Reservation> {
  const isFree = !isLimited(c.get("gateway").config, c.get("principal"));
  return isFree ? new Held(c, worst, []) : reserveLimited(c, worst);
}

async function reserveLimited(c: GatewayContext, worst: WorstCase): Promise<Reservation> {
  const { config, accounts } = c.get("gateway");
  const principal = c.get("principal");
  const claims = claimsOf(config, accounts, principal, worst.spec, () => clientAddress(c.req.raw));
  const asked = new Asked(c, worst, claims);
  const instead = await asked.admit();
  // Over its budget nothing is held; who goes on all the same is booked all the same.
  const held = instead === null ? asked.held : claims.map((claim) => ({ claim, hold: null }));
  return new Held(c, worst, held, instead);
}

/** A claim with what is held of it; null: nothing had to be. */
interface HeldClaim {
  readonly claim: Claim;
  readonly hold: Hold | null;
}

type Outcome = { readonly claim: Claim } & (
  | { readonly hold: Hold | null }
  | { readonly refusal: Exclude<Verdict, { admitted: true }> }
  | { readonly error: unknown }
);

/** One request on its way through all its ledgers: all admit it, or none keeps anything of it. */
class Asked {
  held: HeldClaim[] = [];
  readonly #c: GatewayContext;
  readonly #worst: WorstCase;
  readonly #claims: readonly Claim[];
  readonly #nanos: number;
  readonly #now: number;

  constructor(c: GatewayContext, worst: WorstCase, claims: readonly Claim[]) {
    this.#c = c;
    this.#worst = worst;
    this.#claims = claims;
    this.#nanos = worstOf(worst.spec.price, worst.promptTokens, worst.mostTokens);
    this.#now = c.get("gateway").ambient.now();
  }

  /** Null when it is admitted; the model to fall to; or throws. */
  async admit(): Promise<string | null> {
    for (const claim of this.#claims) this.#refuseKnown(claim);
    const fromLease = this.#claims.map((claim) => this.#local(claim));
    const waits = this.#claims.filter((_, index) => fromLease[index] === undefined);
    const asked = waits.length === 0 ? [] : await Promise.all(waits.map((claim) => this.#remote(claim)));
    const outcomes: Outcome[] = [
      ...asked,
      ...this.#claims.flatMap((claim, index) => {
        const hold = fromLease[index];
        return hold === undefined ? [] : [{ claim, hold }];
      }),
    ];
    this.held = outcomes.flatMap((outcome) => ("hold" in outcome ? [outcome] : []));
    if (this.held.length === outcomes.length) return null;
    return this.#refuse(outcomes);
  }

  /** A hold of the lease, null where none is needed, or undefined when the ledger must be asked. */
  #local({ account, terms, tokensPerMinute }: Claim): Hold | null | undefined {
    if (tokensPerMinute !== null) return undefined;
    if (this.#nanos === 0 || terms.limits.length === 0) return null;
    return account.take(this.#nanos, this.#now) ?? undefined;
  }

  async #remote(claim: Claim): Promise<Outcome> {
    const gateway = this.#c.get("gateway");
    const { account, terms, tokensPerMinute } = claim;
    const id = gateway.accounts.newId();
    const { promptTokens, mostTokens } = this.#worst;
    const tokens = tokensPerMinute === null ? 0 : Math.min(promptTokens + mostTokens, tokensPerMinute);
    const { answer_ms, stream_ms } = gateway.config.timeouts;
    const until = this.#now + Math.max(answer_ms, stream_ms) + HOLD_MS;
    const ask = { id, now: this.#now, nanos: this.#nanos, until, tokens, tokensPerMinute, terms };
    const hold = (second: number): Hold => ({ nanos: this.#nanos, id, tokens, second });
    try {
      const verdict = await within(PATIENCE_MS, ledgerOf(this.#c.env, account.ledger).reserve(ask));
      if (verdict === undefined) throw new Error("the ledger did not answer in time");
      return verdict.admitted ? { claim, hold: hold(verdict.second) } : { claim, refusal: verdict };
    } catch (error) {
      // It may hold the amount all the same.
      account.end({ ...hold(0), tokens: 0 }, null);
      // A limit on tokens guards against bursts: without its ledger it lets pass, as the limiter of requests does.
      return this.#nanos === 0 || terms.limits.length === 0 ? { claim, hold: null } : { claim, error };
    }
  }

  #refuseKnown({ account, tokensPerMinute }: Claim): void {
    const { promptTokens } = this.#worst;
    if (tokensPerMinute !== null && promptTokens > tokensPerMinute)
      throw promptOverTokens(tokensPerMinute, promptTokens);
    const { refused } = account;
    if (refused === null || this.#now >= refused.until) account.refused = null;
    else if (this.#nanos >= refused.nanos) throw overBudget(refused.budget, refused.over, this.#nanos, this.#now);
  }

  #refuse(outcomes: readonly Outcome[]): string {
    for (const { claim, hold } of this.held) if (hold !== null) claim.account.end(hold, null);
    for (const { claim } of outcomes) touch(this.#c, claim.account);
    const failed = outcomes.find((outcome) => "error" in outcome);
    if (failed !== undefined) throw ledgerUnavailable(failed.error);
    let instead: string | null = null;
    for (const outcome of outcomes) {
      if (!("refusal" in outcome)) continue;
      const { claim, refusal } = outcome;
      if ("wait" in refusal) throw overTokens(claim.tokensPerMinute ?? 0, refusal.wait);
      instead ??= this.#overBudget(claim, refusal.over);
    }
    return instead as string;
  }

  /** The model that the budget falls to; throws where one that is reached has none. */
  #overBudget({ account, budgets }: Claim, over: Extract<Verdict, { over: unknown }>["over"]): string | null {
    let instead: string | null = null;
    for (const one of over) {
      const budget = budgets[one.index];
      if (budget === undefined) continue;
      if (budget.fall_to === null || !isServed(this.#c.get("gateway").config, budget.fall_to)) {
        if (!isBusy(budget, one, this.#nanos)) {
          account.refused = { nanos: this.#nanos, until: this.#now + REFUSED_MS, budget, over: one };
        }
        throw overBudget(budget, one, this.#nanos, this.#now);
      }
      instead ??= budget.fall_to;
    }
    return instead;
  }
}

class Held implements Reservation {
  readonly insteadOf: string | null;
  readonly #c: GatewayContext;
  readonly #worst: WorstCase;
  readonly #held: readonly HeldClaim[];
  #open = true;

  constructor(c: GatewayContext, worst: WorstCase, held: readonly HeldClaim[], insteadOf: string | null = null) {
    this.#c = c;
    this.#worst = worst;
    this.#held = held;
    this.insteadOf = insteadOf;
    for (const { claim } of held) touch(c, claim.account);
  }

  settle(usage: Usage, spec: ModelVersion): number {
    if (!this.#open) return 0;
    this.#open = false;
    const tokens = tokensIn(usage, this.#worst);
    if (overstatesCache(tokens)) warnOfCache(this.#c, tokens);
    const line = lineOf(this.#c, spec, tokens);
    const booked = new Set<Account>();
    for (const { claim, hold } of this.#held) {
      if (hold !== null) claim.account.end(hold, line);
      // A ledger that only counts minutes keeps no books.
      if (claim.account.terms.limits.length > 0) claim.account.book(line);
      booked.add(claim.account);
    }
    book(this.#c, line, booked);
    return usdOf(line.nanos);
  }

  release(): void {
    if (!this.#open) return;
    this.#open = false;
    for (const { claim, hold } of this.#held) {
      if (hold !== null) claim.account.end(hold, null);
      touch(this.#c, claim.account);
    }
  }
}

/** Counts a request that cost nothing, as its answer came from the cache. */
export function countFree(c: GatewayContext, spec: ModelVersion): void {
  book(c, lineOf(c, spec, { prompt: 0, cached: 0, completion: 0 }), new Set());
}

/** The stage's ledger knows every request, whether it has a budget or not. */
function book(c: GatewayContext, line: SpendLine, booked: Set<Account>): void {
  const stage = c.get("gateway").accounts.of("stage");
  if (!booked.has(stage)) stage.book(line);
  booked.add(stage);
  for (const account of booked) touch(c, account);
}

function lineOf(c: GatewayContext, spec: ModelVersion, tokens: Tokens): SpendLine {
  const principal = c.get("principal");
  const gateway = c.get("gateway");
  return {
    day: dayOf(gateway.ambient.now()),
    key: keyName(principal),
    team: principal.team ?? "",
    model: gateway.accounts.nameOf(spec),
    requests: 1,
    nanos: costOf(spec.price, tokens),
    prompt: tokens.prompt,
    completion: tokens.completion,
  };
}

function warnOfCache(c: GatewayContext, { cached, prompt }: Tokens): void {
  const record = c.get("record");
  const gateway = c.get("gateway");
  const told = { cached_tokens: cached, prompt_tokens: prompt };
  gateway.ambient.log(JSON.stringify({ event: "usage_overstated", level: "warn", id: record.id, ...told }));
}

function touch(c: GatewayContext, account: Account): void {
  try {
    c.get("gateway").accounts.touch(account, c.env, (work) => c.executionCtx.waitUntil(work));
  } catch {
    // A request that is over can start nothing more: the next one tells what this one has noted.
  }
}
