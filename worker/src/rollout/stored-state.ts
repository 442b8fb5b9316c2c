type Fields = Record<string, unknown>;

/** Fields that are kept entry by entry: one model's batch must not write the whole stage again. */
const SPLIT = new Set(["models", "seen", "figures"]);

interface Row extends Record<string, SqlStorageValue> {
  field: string;
  entry: string;
  json: string;
}

/**
 * A state of plain values in SQLite, a row for each field (and each entry of those of `SPLIT`). States are never changed
 * in place, so that what is the same object as before need not be written.
 */
export class StoredState<S extends object> {
  readonly #sql: SqlStorage;
  #written: Fields = {};

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(
      "CREATE TABLE IF NOT EXISTS state (field TEXT, entry TEXT, json TEXT NOT NULL, PRIMARY KEY (field, entry)) WITHOUT ROWID",
    );
  }

  /** Null when nothing was ever kept. */
  read(): S | null {
    const rows = this.#sql.exec<Row>("SELECT field, entry, json FROM state").toArray();
    const state: Fields = {};
    // Also of what was written and taken back.
    this.#written = state;
    if (rows.length === 0) return null;
    for (const { field, entry, json } of rows) {
      const value: unknown = JSON.parse(json);
      const entries = state[field];
      // The row of the field itself comes before its entries'.
      if (entry !== "" && isRecord(entries)) entries[entry] = value;
      else state[field] = value;
    }
    return state as S;
  }

  write(state: S): void {
    for (const [field, value] of Object.entries(state)) {
      const before = this.#written[field];
      if (value === before) continue;
      if (SPLIT.has(field) && isRecord(value)) this.#writeEntries(field, value, isRecord(before) ? before : {});
      else this.#put(field, "", value);
    }
    this.#written = { ...state } as Fields;
  }

  #writeEntries(field: string, value: Fields, before: Fields): void {
    // That there is such a field, even when it is empty.
    if (Object.keys(before).length === 0) this.#put(field, "", {});
    for (const [entry, item] of Object.entries(value)) {
      if (item !== before[entry]) this.#put(field, entry, item);
    }
    for (const entry of Object.keys(before)) {
      if (!Object.hasOwn(value, entry)) {
        this.#sql.exec("DELETE FROM state WHERE field = ? AND entry = ?", field, entry);
      }
    }
  }

  #put(field: string, entry: string, value: unknown): void {
    this.#sql.exec("INSERT OR REPLACE INTO state VALUES (?, ?, ?)", field, entry, JSON.stringify(value));
  }
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
