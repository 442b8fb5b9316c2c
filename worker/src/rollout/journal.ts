import type { JournalPage } from "./port.ts";
import type { JournalEntry } from "./types.ts";

/** The triggers hold whatever the code above them does: what is written stays. */
const TABLES = `
  CREATE TABLE IF NOT EXISTS journal (number INTEGER PRIMARY KEY, model TEXT NOT NULL, entry TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS journal_model ON journal (model, number);
  CREATE TRIGGER IF NOT EXISTS journal_kept BEFORE DELETE ON journal
    BEGIN SELECT RAISE(ABORT, 'the journal is only ever added to'); END;
  CREATE TRIGGER IF NOT EXISTS journal_fixed BEFORE UPDATE ON journal
    BEGIN SELECT RAISE(ABORT, 'the journal is only ever added to'); END;
`;

interface Row extends Record<string, SqlStorageValue> {
  number: number;
  entry: string;
}

/** What happened in the stage's rollouts, in order. Appended, never changed. */
export class Journal {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(TABLES);
  }

  /** Throws when an entry has a number that is taken: then nothing that goes with it may stand either. */
  add(entry: JournalEntry): void {
    this.#sql.exec("INSERT INTO journal VALUES (?, ?, ?)", entry.number, entry.model, JSON.stringify(entry));
  }

  /** Entries with a number above `after`, of one model or of all (null). */
  page(model: string | null, after: number, limit: number): JournalPage {
    const [where, values] = model === null ? ["", [after]] : ["AND model = ?", [after, model]];
    const query = `SELECT number, entry FROM journal WHERE number > ? ${where} ORDER BY number LIMIT ?`;
    const rows = this.#sql.exec<Row>(query, ...values, limit + 1).toArray();
    const shown = rows.slice(0, limit);
    const entries = shown.map(({ entry }) => JSON.parse(entry) as JournalEntry);
    return { entries, next: rows.length > limit ? (shown.at(-1)?.number ?? null) : null };
  }
}
