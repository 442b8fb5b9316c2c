import { DurableObject } from "cloudflare:workers";
import { Alerts } from "./alerts.ts";
import { leaseFor, limitsOver } from "./core.ts";
import { LedgerStore } from "./ledger-store.ts";
import { dayOf } from "./periods.ts";
import type { Ask, Batch, Grant, Report, Spend, Verdict } from "./protocol.ts";
import { SlidingWindow } from "./window.ts";

/** How long an isolate's requests on their way are held for when it is not heard of: longer than answers take. */
const BUSY_MS = 30 * 60_000;

/**
 * What one key, one team or the stage has spent and holds reserved. Storage and time here, decisions in `core.ts`.
 * Each call is done in one go, without waiting, so that no other comes in between.
 */
export class Ledger extends DurableObject<Record<string, unknown>> {
  readonly #store: LedgerStore;
  readonly #alerts: Alerts;
  // In memory alone: an object that was put away for being idle has had nothing to count for as long as a minute lasts.
  readonly #tokens = new SlidingWindow();
  readonly #requests = new SlidingWindow();
  #purgedOn = "";

  constructor(ctx: DurableObjectState, env: Record<string, unknown>) {
    super(ctx, env);
    this.#store = new LedgerStore(ctx.storage.sql);
    this.#alerts = new Alerts(ctx.storage.sql);
  }

  /** Holds an amount for one request, if it fits all limits together with what is spent and held. */
  reserve(ask: Ask): Verdict {
    const { now, terms, tokens, tokensPerMinute } = ask;
    const wait = tokensPerMinute === null ? 0 : this.#tokens.waitFor(now, tokens, tokensPerMinute);
    if (wait > 0) return { admitted: false, wait };
    if (ask.nanos > 0 && terms.limits.length > 0) {
      const sums = this.#store.sums(now);
      const over = limitsOver(terms.limits, sums, ask.nanos);
      if (over.length > 0) {
        if (
          this.#alerts.note(
            terms,
            sums,
            now,
            over.map(({ index }) => index),
          )
        )
          this.#wake();
        return { admitted: false, over };
      }
      this.#store.hold(ask.id, ask.nanos, ask.until);
    }
    return { admitted: true, second: tokensPerMinute === null ? 0 : this.#tokens.add(now, tokens) };
  }

  /** Counts one request against requests a minute; seconds to wait, 0 when it is admitted. */
  hit(now: number, perMinute: number): number {
    const wait = this.#requests.waitFor(now, 1, perMinute);
    if (wait === 0) this.#requests.add(now, 1);
    return wait;
  }

  /** Books what an isolate's requests came to, and renews what it holds. */
  report(report: Report): Grant {
    const { isolate, batch, now, terms } = report;
    return this.ctx.storage.transactionSync(() => {
      const known = this.#store.known(isolate);
      if (batch !== null && batch.sequence > known.sequence) {
        this.#book(batch, now);
        this.#store.counted(isolate, batch.sequence, now);
      }
      const granted = report.version > known.version ? this.#renew(report) : 0;
      if (terms.limits.length > 0 && this.#alerts.note(terms, this.#store.sums(now), now)) this.#wake();
      this.#purge(now);
      return { granted };
    });
  }

  /** What was spent this day and month, by key, team and model. */
  spend(now: number): Spend {
    return this.#store.spend(now);
  }

  override async alarm(): Promise<void> {
    const next = await this.#alerts.send(Date.now(), (name) => this.env[name]);
    if (next !== null) await this.ctx.storage.setAlarm(Math.max(next, Date.now()));
  }

  #book({ lines, ended, corrections }: Batch, now: number): void {
    for (const line of lines) this.#store.book(line);
    this.#store.end(ended);
    for (const [second, change] of corrections) this.#tokens.correct(now, second, change);
  }

  #renew(report: Report): number {
    const { terms, now, busy, idle } = report;
    const until = now + BUSY_MS;
    // Without limits nothing is held, and nothing need be asked for.
    if (terms.limits.length === 0) {
      this.#store.lease({ ...report, busy: 0 }, 0, now);
      return 0;
    }
    this.#store.lease({ ...report, busy }, idle, until);
    const granted = leaseFor(terms.limits, this.#store.sums(now), report.want, report.each);
    if (granted > 0) this.#store.lease({ ...report, busy }, idle + granted, until);
    return granted;
  }

  #purge(now: number): void {
    const day = dayOf(now);
    if (day === this.#purgedOn) return;
    this.#purgedOn = day;
    this.#store.purge(now);
  }

  #wake(): void {
    void this.ctx.storage.setAlarm(Date.now());
  }
}
