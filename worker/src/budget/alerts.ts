import { post, retryIn } from "../webhook.ts";
import { type Limit, percentDue, type Sums, spentIn } from "./core.ts";
import { dollars, usdOf } from "./money.ts";
import { endOf, startOf } from "./periods.ts";
import type { Terms } from "./protocol.ts";

/** What the webhook is told. `text` alone is what a chat's incoming webhook shows. */
export interface Alert {
  readonly event: "budget_alert";
  readonly text: string;
  readonly stage: string;
  /** `key sk-1`, `team search`, `stage`. */
  readonly scope: string;
  readonly period: string;
  readonly start: string;
  readonly resets_at: string;
  readonly percent: number;
  readonly spent_usd: number;
  readonly limit_usd: number;
}

interface Row extends Record<string, SqlStorageValue> {
  period: string;
  start: string;
  percent: number;
  webhook: string;
  body: string;
  attempts: number;
}

/** Which shares of its limits a ledger has told, and what it has still to tell. Each is told once in a period. */
export class Alerts {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(`CREATE TABLE IF NOT EXISTS alerts (period TEXT, start TEXT, percent INTEGER, webhook TEXT NOT NULL,
      body TEXT, attempts INTEGER NOT NULL, due INTEGER NOT NULL, PRIMARY KEY (period, start, percent)) WITHOUT ROWID`);
  }

  /** Notes what has become due; true when there is something to send. `refused`: places of limits that just refused. */
  note(terms: Terms, sums: Sums, now: number, refused: readonly number[] = []): boolean {
    const { alerts } = terms;
    if (alerts === null) return false;
    const fresh = terms.limits.filter((limit, index) => {
      const percent = percentDue(limit, sums, refused.includes(index));
      const start = startOf(limit.period, now);
      if (percent === null || percent <= this.#told(limit.period, start)) return false;
      const body = JSON.stringify(alertOf(limit, percent, alerts, spentIn(limit.period, sums), now));
      const values = [limit.period, start, percent, alerts.webhook, body];
      this.#sql.exec("INSERT INTO alerts VALUES (?, ?, ?, ?, ?, 0, 0)", ...values);
      return true;
    });
    return fresh.length > 0;
  }

  /** Sends what is due; gives when to go on, or null when all is told. `urlOf` gives a webhook's URL by its name. */
  async send(clock: number, urlOf: (name: string) => unknown): Promise<number | null> {
    const due = this.#sql.exec<Row>("SELECT * FROM alerts WHERE body IS NOT NULL AND due <= ?", clock).toArray();
    await Promise.all(due.map((row) => this.#tell(row, clock, urlOf(row.webhook))));
    const [[next] = [null]] = [...this.#sql.exec("SELECT MIN(due) FROM alerts WHERE body IS NOT NULL").raw()];
    return typeof next === "number" ? next : null;
  }

  async #tell(row: Row, clock: number, url: unknown): Promise<void> {
    const key = [row.period, row.start, row.percent];
    const fault = await post(url, row.body);
    const attempts = row.attempts + 1;
    const wait = fault === null ? null : retryIn(attempts);
    if (wait === null) {
      this.#sql.exec("UPDATE alerts SET body = NULL WHERE period = ? AND start = ? AND percent = ?", ...key);
    } else {
      const set = "UPDATE alerts SET attempts = ?, due = ? WHERE period = ? AND start = ? AND percent = ?";
      this.#sql.exec(set, attempts, clock + wait, ...key);
    }
    // Without the URL, which is a secret.
    if (fault !== null) console.log(JSON.stringify({ event: "budget_alert_failed", level: "warn", attempts, fault }));
  }

  #told(period: string, start: string): number {
    const query = "SELECT MAX(percent) FROM alerts WHERE period = ? AND start = ?";
    const [[percent] = [null]] = [...this.#sql.exec(query, period, start).raw()];
    return typeof percent === "number" ? percent : 0;
  }
}

function alertOf(
  limit: Limit,
  percent: number,
  { stage, scope }: NonNullable<Terms["alerts"]>,
  spent: number,
  now: number,
): Alert {
  const resets = new Date(endOf(limit.period, now)).toISOString();
  const used = `${dollars(spent)} of ${dollars(limit.nanos)}`;
  const text = `Sluiceway ${stage}: ${scope} has reached ${percent} % of its budget for the ${limit.period} (${used}).`;
  return {
    ...{ event: "budget_alert", text, stage, scope, period: limit.period, start: startOf(limit.period, now) },
    ...{ resets_at: resets, percent, spent_usd: usdOf(spent), limit_usd: usdOf(limit.nanos) },
  };
}
