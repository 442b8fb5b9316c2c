import type { Served } from "./port.ts";

/** A thumb may come a day later. */
const KEPT_MS = 86_400_000;
/** Beyond that the oldest are forgotten sooner. */
export const MOST = 200_000;
/** Between two looks for what is to be forgotten. */
const PURGE_MS = 60_000;

interface Row extends Record<string, SqlStorageValue> {
  caller: string;
  model: string;
  version: number;
  client: string;
  at: number;
  rated: number;
}

/** `at`: when it was told of, in milliseconds since the epoch. */
interface Known extends Served {
  readonly at: number;
  readonly rated: boolean;
}

/** Which version served which request, for as long as its caller may say something of it. */
export class ServedRequests {
  readonly #sql: SqlStorage;
  #purgedAt = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(`CREATE TABLE IF NOT EXISTS served (id TEXT NOT NULL, caller TEXT NOT NULL, model TEXT NOT NULL,
      version INTEGER NOT NULL, client TEXT NOT NULL, at INTEGER NOT NULL, rated INTEGER NOT NULL,
      PRIMARY KEY (id, caller)) WITHOUT ROWID`);
    sql.exec("CREATE INDEX IF NOT EXISTS served_at ON served (at)");
  }

  /** The last of two requests with one id, which a caller may choose, is meant. */
  add(all: readonly Served[], now: number): void {
    for (const { id, caller, model, version, client } of all) {
      this.#sql.exec(
        "INSERT OR REPLACE INTO served VALUES (?, ?, ?, ?, ?, ?, 0)",
        id,
        caller,
        model,
        version,
        client,
        now,
      );
    }
    if (all.length > 0 && now - this.#purgedAt >= PURGE_MS) this.#purge(now);
  }

  find(id: string, caller: string, now: number): Known | null {
    const query = "SELECT caller, model, version, client, at, rated FROM served WHERE id = ? AND caller = ? AND at > ?";
    const [row] = this.#sql.exec<Row>(query, id, caller, now - KEPT_MS).toArray();
    if (row === undefined) return null;
    const { model, version, client, at, rated } = row;
    return { id, caller, model, version, client, at, rated: rated !== 0 };
  }

  /** One thumb a request. */
  rate(id: string, caller: string): void {
    this.#sql.exec("UPDATE served SET rated = 1 WHERE id = ? AND caller = ?", id, caller);
  }

  #purge(now: number): void {
    this.#purgedAt = now;
    this.#sql.exec("DELETE FROM served WHERE at <= ?", now - KEPT_MS);
    const beyond = "SELECT at FROM served ORDER BY at DESC LIMIT 1 OFFSET ?";
    this.#sql.exec(`DELETE FROM served WHERE at <= (${beyond})`, MOST);
  }
}
