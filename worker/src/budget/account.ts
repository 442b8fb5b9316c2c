import type { Budget } from "../config-policies.ts";
import type { Over } from "./core.ts";
import type { Batch, Grant, Report, SpendLine, Terms } from "./protocol.ts";
import { IDLE_MS } from "./protocol.ts";

/**
 * An isolate stops to spend in advance well before the ledger stops to hold that for it: what it took last must be told
 * by then, also over a network that fails for a while.
 */
const USABLE_MS = IDLE_MS - 40_000;
/** Requests beyond those of the last round that a lease should carry. */
const AHEAD = 16;
/** Ends that are remembered while a ledger can't be told; it lets go of the others by itself after a while. */
const MOST_ENDED = 2_000;
/** What is left of the dearest request's weight after each report. */
const EACH_DECAY = 0.9;

const NO_TERMS: Terms = { limits: [], alerts: null };

/** What one request holds of one ledger. */
export interface Hold {
  readonly nanos: number;
  /** Of a request that the ledger admitted by itself; null: it is held by the isolate's lease. */
  readonly id: string | null;
  /** Tokens counted in that second. */
  readonly tokens: number;
  readonly second: number;
}

/**
 * What this isolate knows of one ledger: its lease, and what it has still to tell. Plain values, so that requests can
 * share them. What the ledger holds for the isolate is never less than `busy` + `idle` + what is not yet booked.
 */
export class Account {
  readonly ledger: string;
  /** As the last request had them. */
  terms: Terms = NO_TERMS;
  /** A request of so much was refused, and would be until then. */
  refused: { readonly nanos: number; readonly until: number; readonly budget: Budget; readonly over: Over } | null =
    null;
  /** Milliseconds until which requests a minute are used up. */
  blockedUntil = 0;
  readonly #isolate: string;
  #busy = 0;
  #idle = 0;
  #idleUntil = 0;
  #taken = 0;
  #each = 0;
  #version = 0;
  #sequence = 0;
  #unsent: Batch | null = null;
  #lines = new Map<string, SpendLine>();
  #ended: string[] = [];
  #corrections = new Map<number, number>();
  #leaseChanged = false;

  constructor(ledger: string, isolate: string) {
    this.ledger = ledger;
    this.#isolate = isolate;
  }

  /** Whether the ledger has to be told something. */
  get dirty(): boolean {
    return this.#unsent !== null || this.#leaseChanged || this.#lines.size > 0 || this.urgent;
  }

  /** Whether others wait for what there is to tell. */
  get urgent(): boolean {
    return this.#ended.length > 0 || this.#corrections.size > 0;
  }

  /** Whether nothing is lost when this is forgotten. */
  get quiet(): boolean {
    return this.#busy === 0 && !this.dirty;
  }

  /** Takes an amount from the lease, if it holds as much. */
  take(nanos: number, now: number): Hold | null {
    this.#each = Math.max(this.#each, nanos);
    this.#taken += nanos;
    // The ledger should know soon: of the request on its way, or that a lease is wanted.
    this.#leaseChanged = true;
    if (now >= this.#idleUntil) this.#idle = 0;
    if (this.#idle < nanos) return null;
    this.#idle -= nanos;
    this.#busy += nanos;
    return { nanos, id: null, tokens: 0, second: 0 };
  }

  /** Ends a hold; `line` is what the request came to, null when that is nothing. */
  end(hold: Hold, line: SpendLine | null): void {
    const spent = line?.nanos ?? 0;
    if (hold.id === null) {
      this.#busy -= hold.nanos;
      this.#idle = Math.max(0, this.#idle + hold.nanos - spent);
      this.#leaseChanged = true;
    } else if (this.#ended.length < MOST_ENDED) this.#ended.push(hold.id);
    const change = (line === null ? 0 : line.prompt + line.completion) - hold.tokens;
    if (hold.tokens > 0 && change !== 0) {
      this.#corrections.set(hold.second, (this.#corrections.get(hold.second) ?? 0) + change);
    }
  }

  /** Notes what a request came to. */
  book(line: SpendLine): void {
    const key = `${line.day}\n${line.key}\n${line.team}\n${line.model}`;
    const known = this.#lines.get(key);
    if (known === undefined) {
      this.#lines.set(key, { ...line });
      return;
    }
    known.requests += line.requests;
    known.nanos += line.nanos;
    known.prompt += line.prompt;
    known.completion += line.completion;
  }

  /** Tells the ledger. What fails is told again, under the same number, so that it counts once. */
  async tell(port: { report(report: Report): Promise<Grant> }, now: number): Promise<void> {
    this.#unsent ??= this.#nextBatch();
    if (now >= this.#idleUntil) this.#idle = 0;
    const report = this.#report(now);
    this.#leaseChanged = false;
    this.#taken = 0;
    // One dear request must not make leases dear for good.
    this.#each = Math.floor(this.#each * EACH_DECAY);
    try {
      const { granted } = await port.report(report);
      if (this.#unsent === report.batch) this.#unsent = null;
      // A report that was overtaken says nothing about the lease of now.
      if (report.version !== this.#version) return;
      this.#idle += granted;
      this.#idleUntil = now + USABLE_MS;
    } catch (error) {
      this.#leaseChanged = true;
      throw error;
    }
  }

  #report(now: number): Report {
    const target = 2 * this.#taken + AHEAD * this.#each;
    // After a rush the rest is for others.
    if (this.#idle > 2 * target) this.#idle = target;
    const want = Math.max(0, target - this.#idle);
    return {
      ...{ isolate: this.#isolate, version: ++this.#version, now, batch: this.#unsent },
      ...{ busy: this.#busy, idle: this.#idle, want, each: this.#each, terms: this.terms },
    };
  }

  #nextBatch(): Batch | null {
    if (this.#lines.size === 0 && !this.urgent) return null;
    const batch: Batch = {
      sequence: ++this.#sequence,
      lines: [...this.#lines.values()],
      ended: this.#ended,
      corrections: [...this.#corrections],
    };
    this.#lines = new Map();
    this.#ended = [];
    this.#corrections = new Map();
    return batch;
  }
}
