import { DurableObject } from "cloudflare:workers";
import { Alerts } from "./alerts.ts";
import { leaseFor, limitsOver } from "./core.ts";
import { LedgerStore } from "./ledger-store.ts";
import { Minute } from "./minute.ts";
import { dayOf } from "./periods.ts";
import type { Ask, Batch, Grant, Report, Spend, Verdict } from "./protocol.ts";

/** How long an isolate's requests on their way are held for when it is not heard of: longer than answers take. */
const BUSY_MS = 30 * 60_000;
/** When a ledger that counts minutes looks whether there is anything left to keep. */
const SWEEP_MS = 5 * 60_000;

/** What is kept: made with the first call, since it is all deleted when nothing of it counts any more. */
interface Kept {
  readonly store: LedgerStore;
  readonly alerts: Alerts;
  readonly tokens: Minute;
  readonly requests: Minute;
}

/**
 * What one key, one team or the stage has spent and holds reserved. Storage and time here, decisions in `core.ts`.
 * Each call is done in one go, without waiting, so that no other comes in between.
 */
export class Ledger extends DurableObject<Record<string, unknown>> {
  #made: Kept | null = null;
  #purgedOn = "";
  #swept = true;

  get #kept(): Kept {
    const { sql } = this.ctx.storage;
    this.#made ??= {
      store: new LedgerStore(sql),
      alerts: new Alerts(sql),
      tokens: new Minute(sql, "tokens"),
      requests: new Minute(sql, "requests"),
    };
    return this.#made;
  }

  /** Holds an amount for one request, if it fits all limits together with what is spent and held. */
  reserve(ask: Ask): Verdict {
    const { now, terms, tokens, tokensPerMinute } = ask;
    const kept = this.#kept;
    const wait = tokensPerMinute === null ? 0 : kept.tokens.waitFor(now, tokens, tokensPerMinute);
    if (wait > 0) return { admitted: false, wait };
    if (ask.nanos > 0 && terms.limits.length > 0) {
      const sums = kept.store.sums(now);
      const over = limitsOver(terms.limits, sums, ask.nanos);
      if (over.length > 0) {
        const refused = over.map(({ index }) => index);
        if (kept.alerts.note(terms, sums, now, refused)) this.#wake();
        return { admitted: false, over };
      }
      kept.store.hold(ask.id, ask.nanos, ask.until);
    }
    if (tokensPerMinute === null) return { admitted: true, second: 0 };
    this.#sweepLater();
    return { admitted: true, second: kept.tokens.add(now, tokens) };
  }

  /** Counts one request against requests a minute; seconds to wait, 0 when it is admitted. */
  hit(now: number, perMinute: number): number {
    const { requests } = this.#kept;
    const wait = requests.waitFor(now, 1, perMinute);
    if (wait > 0) return wait;
    requests.add(now, 1);
    this.#sweepLater();
    return 0;
  }

  /** Books what an isolate's requests came to, and renews what it holds. */
  report(report: Report): Grant {
    const { isolate, batch, now, terms } = report;
    const { store, alerts } = this.#kept;
    return this.ctx.storage.transactionSync(() => {
      const known = store.known(isolate);
      if (batch !== null && batch.sequence > known.sequence) {
        this.#book(batch, now);
        store.counted(isolate, batch.sequence, now);
      }
      const granted = report.version > known.version ? this.#renew(report) : 0;
      if (terms.limits.length > 0 && alerts.note(terms, store.sums(now), now)) this.#wake();
      this.#purge(now);
      return { granted };
    });
  }

  /** What was spent this day and month, by key, team and model. */
  spend(now: number): Spend {
    return this.#kept.store.spend(now);
  }

  override async alarm(): Promise<void> {
    const next = await this.#kept.alerts.send(Date.now(), (name) => this.env[name]);
    if (next !== null) return this.ctx.storage.setAlarm(Math.max(next, Date.now()));
    await this.#sweep();
  }

  #book({ lines, ended, corrections }: Batch, now: number): void {
    const { store, tokens } = this.#kept;
    for (const line of lines) store.book(line);
    store.end(ended);
    for (const [second, change] of corrections) tokens.correct(now, second, change);
  }

  #renew(report: Report): number {
    const { store } = this.#kept;
    const { terms, now, idle } = report;
    // Without limits nothing is held, and nothing need be asked for.
    if (terms.limits.length === 0) {
      store.lease({ ...report, busy: 0 }, 0, now);
      return 0;
    }
    const until = now + BUSY_MS;
    store.lease(report, idle, until);
    const granted = leaseFor(terms.limits, store.sums(now), report.want, report.each);
    if (granted > 0) store.lease(report, idle + granted, until);
    return granted;
  }

  #purge(now: number): void {
    const day = dayOf(now);
    if (day === this.#purgedOn) return;
    this.#purgedOn = day;
    this.#kept.store.purge(now);
  }

  #wake(): void {
    void this.ctx.storage.setAlarm(Date.now());
  }

  #sweepLater(): void {
    if (!this.#swept) return;
    this.#swept = false;
    const { storage } = this.ctx;
    const later = async () => {
      if ((await storage.getAlarm()) === null) await storage.setAlarm(Date.now() + SWEEP_MS);
    };
    this.ctx.waitUntil(later());
  }

  /** Deletes all of a ledger that has no books, once its minute is over: addresses of callers come and go. */
  async #sweep(): Promise<void> {
    this.#swept = true;
    const { store, tokens, requests } = this.#kept;
    if (!store.empty) return;
    const now = Date.now();
    if (tokens.isEmpty(now) && requests.isEmpty(now)) {
      this.#made = null;
      await this.ctx.storage.deleteAll();
    } else this.#sweepLater();
  }
}
