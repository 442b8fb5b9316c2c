import { BUCKETS, SlidingWindow } from "./window.ts";

interface Row extends Record<string, SqlStorageValue> {
  second: number;
  amount: number;
}

/** A sliding window that is kept: an object that nobody asks for ten seconds is put away, and its memory with it. */
export class Minute {
  readonly #sql: SqlStorage;
  readonly #kind: string;
  readonly #window = new SlidingWindow();
  #prunedAt = 0;

  constructor(sql: SqlStorage, kind: "requests" | "tokens") {
    this.#sql = sql;
    this.#kind = kind;
    sql.exec(`CREATE TABLE IF NOT EXISTS seconds
      (kind TEXT, second INTEGER, amount INTEGER NOT NULL, PRIMARY KEY (kind, second)) WITHOUT ROWID`);
    const rows = sql.exec<Row>("SELECT second, amount FROM seconds WHERE kind = ? ORDER BY second", kind);
    for (const { second, amount } of rows) this.#window.add(second * 1_000, amount);
  }

  /** Whole seconds until `amount` more fits the limit: 0 when it does now. */
  waitFor(now: number, amount: number, limit: number): number {
    return this.#window.waitFor(now, amount, limit);
  }

  /** Adds an amount, and gives the second that it was added to. */
  add(now: number, amount: number): number {
    const second = this.#window.add(now, amount);
    this.#keep(second);
    return second;
  }

  correct(now: number, second: number, change: number): void {
    if (this.#window.correct(now, second, change)) this.#keep(second);
  }

  isEmpty(now: number): boolean {
    return this.#window.total(now) === 0;
  }

  #keep(second: number): void {
    const amount = this.#window.at(second);
    this.#sql.exec("INSERT OR REPLACE INTO seconds VALUES (?, ?, ?)", this.#kind, second, amount);
    if (second <= this.#prunedAt) return;
    this.#prunedAt = second;
    this.#sql.exec("DELETE FROM seconds WHERE kind = ? AND second <= ?", this.#kind, second - BUCKETS);
  }
}
