import type { Sums } from "./core.ts";
import { usdOf } from "./money.ts";
import { dayOf, endOf, type Period, startOf } from "./periods.ts";
import { IDLE_MS, type Report, type Share, type Spend, type SpendLine, type Total } from "./protocol.ts";

const DAY_MS = 86_400_000;
/** Days that are kept: the month before last is over for everybody. */
const KEPT_DAYS = 62;
/** Names in a report, of each kind. */
const REPORTED = 100;

const TABLES = `
  CREATE TABLE IF NOT EXISTS days (day TEXT PRIMARY KEY, nanos INTEGER NOT NULL, requests INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS lines (day TEXT, key TEXT, team TEXT, model TEXT, nanos INTEGER NOT NULL,
    requests INTEGER NOT NULL, prompt INTEGER NOT NULL, completion INTEGER NOT NULL,
    PRIMARY KEY (day, key, team, model)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS holds (id TEXT PRIMARY KEY, nanos INTEGER NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS isolates (isolate TEXT PRIMARY KEY, version INTEGER NOT NULL, sequence INTEGER NOT NULL,
    busy INTEGER NOT NULL, idle INTEGER NOT NULL, heard INTEGER NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
`;

interface Known extends Record<string, SqlStorageValue> {
  version: number;
  sequence: number;
}

/** A ledger's tables. Nothing is decided here. */
export class LedgerStore {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(TABLES);
  }

  sums(now: number): Sums {
    const held = this.#number("SELECT SUM(nanos) FROM holds WHERE until > ?", now);
    const busy = this.#number("SELECT SUM(busy) FROM isolates WHERE until > ?", now);
    const idle = this.#number("SELECT SUM(idle) FROM isolates WHERE heard > ?", now - IDLE_MS);
    const spent = (period: Period) =>
      this.#number("SELECT SUM(nanos) FROM days WHERE day BETWEEN ? AND ?", startOf(period, now), dayOf(now));
    return { day: spent("day"), month: spent("month"), held: held + busy + idle, idle };
  }

  hold(id: string, nanos: number, until: number): void {
    this.#sql.exec("INSERT OR REPLACE INTO holds VALUES (?, ?, ?)", id, nanos, until);
  }

  end(ids: readonly string[]): void {
    for (const id of ids) this.#sql.exec("DELETE FROM holds WHERE id = ?", id);
  }

  book(line: SpendLine): void {
    const { day, key, team, model, nanos, requests, prompt, completion } = line;
    this.#sql.exec(
      `INSERT INTO days VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET nanos = nanos + excluded.nanos, requests = requests + excluded.requests`,
      ...[day, nanos, requests],
    );
    this.#sql.exec(
      `INSERT INTO lines VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET nanos = nanos + excluded.nanos, requests = requests + excluded.requests,
         prompt = prompt + excluded.prompt, completion = completion + excluded.completion`,
      ...[day, key, team, model, nanos, requests, prompt, completion],
    );
  }

  /** How far an isolate's reports have come; zeros for one that was never heard of. */
  known(isolate: string): Known {
    const rows = this.#sql.exec<Known>("SELECT version, sequence FROM isolates WHERE isolate = ?", isolate).toArray();
    return rows[0] ?? { version: 0, sequence: 0 };
  }

  /** Notes that a batch is in the books. */
  counted(isolate: string, sequence: number, now: number): void {
    this.#sql.exec(
      "INSERT INTO isolates VALUES (?, 0, ?, 0, 0, ?, ?) ON CONFLICT DO UPDATE SET sequence = excluded.sequence",
      ...[isolate, sequence, now, now],
    );
  }

  /** What an isolate holds from now on; `until` as in `Ask`. */
  lease({ isolate, version, busy, now }: Report, idle: number, until: number): void {
    this.#sql.exec(
      `INSERT INTO isolates VALUES (?, ?, 0, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET version = excluded.version,
         busy = excluded.busy, idle = excluded.idle, heard = excluded.heard, until = excluded.until`,
      ...[isolate, version, busy, idle, now, until],
    );
  }

  /** Forgets what is over. Isolates stay for a day, so that a late repetition of a batch is known as one. */
  purge(now: number): void {
    const oldest = dayOf(now - KEPT_DAYS * DAY_MS);
    this.#sql.exec("DELETE FROM days WHERE day < ?", oldest);
    this.#sql.exec("DELETE FROM lines WHERE day < ?", oldest);
    this.#sql.exec("DELETE FROM holds WHERE until <= ?", now);
    this.#sql.exec("DELETE FROM isolates WHERE heard < ? AND until < ?", now - DAY_MS, now);
  }

  /** Whether there is nothing that anybody would miss. */
  get empty(): boolean {
    return this.#number("SELECT (SELECT COUNT(*) FROM days) + (SELECT COUNT(*) FROM holds)") === 0;
  }

  spend(now: number): Spend {
    return {
      day: this.#total("day", now),
      month: this.#total("month", now),
      keys: this.#shares("key", now),
      teams: this.#shares("team", now).filter(({ name }) => name !== ""),
      models: this.#shares("model", now),
    };
  }

  #total(period: Period, now: number): Total {
    const start = startOf(period, now);
    const nanos = this.#number("SELECT SUM(nanos) FROM days WHERE day BETWEEN ? AND ?", start, dayOf(now));
    const requests = this.#number("SELECT SUM(requests) FROM days WHERE day BETWEEN ? AND ?", start, dayOf(now));
    return { start, resets_at: new Date(endOf(period, now)).toISOString(), usd: usdOf(nanos), requests };
  }

  #shares(column: "key" | "team" | "model", now: number): Share[] {
    const rows = this.#sql.exec<Record<string, number> & { name: string }>(
      `SELECT ${column} AS name, SUM(CASE WHEN day = ?1 THEN nanos ELSE 0 END) AS today, SUM(nanos) AS month,
         SUM(requests) AS requests, SUM(prompt) AS prompt, SUM(completion) AS completion
       FROM lines WHERE day BETWEEN ?2 AND ?1 GROUP BY name ORDER BY month DESC, name LIMIT ?3`,
      ...[dayOf(now), startOf("month", now), REPORTED],
    );
    return [...rows].map(({ name, today = 0, month = 0, requests = 0, prompt = 0, completion = 0 }) => ({
      ...{ name, usd_day: usdOf(today), usd_month: usdOf(month) },
      ...{ requests, prompt_tokens: prompt, completion_tokens: completion },
    }));
  }

  /** The one number of a query; 0 where it is null. */
  #number(query: string, ...values: SqlStorageValue[]): number {
    const [[value] = [null]] = [...this.#sql.exec(query, ...values).raw()];
    return typeof value === "number" ? value : 0;
  }
}
