import { PATIENCE_MS, post, retryIn } from "../webhook.ts";
import type { Audience } from "./facts.ts";
import type { JournalEntry } from "./types.ts";

/** What the webhook is told of a transition. Slack and its like get `text` alone. */
export interface Notice extends JournalEntry {
  readonly event: "rollout";
  readonly text: string;
  readonly stage: string;
}

interface Row extends Record<string, SqlStorageValue> {
  number: number;
  secret: string;
  body: string;
  attempts: number;
}

/** At once, the oldest first: what happened is told in order as far as the webhook takes it. */
const AT_ONCE = 20;

/** What has still to be told of the journal. Each entry is told once, and in order unless the webhook refuses one. */
export class Notices {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(`CREATE TABLE IF NOT EXISTS notices (number INTEGER PRIMARY KEY, secret TEXT NOT NULL, body TEXT NOT NULL,
      attempts INTEGER NOT NULL, due INTEGER NOT NULL)`);
  }

  /** Notes an entry for whoever is to be told; nobody where no secret is named. */
  add(entry: JournalEntry, audience: Audience | null): void {
    if (audience === null || audience.webhook_secret === null) return;
    const values = [entry.number, audience.webhook_secret, bodyOf(entry, audience)];
    this.#sql.exec("INSERT OR REPLACE INTO notices VALUES (?, ?, ?, 0, 0)", ...values);
  }

  /** When there is something to send, in milliseconds since the epoch; null: nothing. */
  get due(): number | null {
    const [[due] = [null]] = [...this.#sql.exec("SELECT MIN(due) FROM notices").raw()];
    return typeof due === "number" ? due : null;
  }

  /**
   * Sends what is due; a slow webhook gets the rest the next time, since rollouts wait meanwhile. `urlOf` gives a
   * webhook's URL by the name of its secret.
   */
  async send(now: number, urlOf: (name: string) => unknown): Promise<void> {
    const query = "SELECT number, secret, body, attempts FROM notices WHERE due <= ? ORDER BY number LIMIT ?";
    const began = Date.now();
    for (const row of this.#sql.exec<Row>(query, now, AT_ONCE).toArray()) {
      await this.#tell(row, now, urlOf(row.secret));
      if (Date.now() - began > PATIENCE_MS) return;
    }
  }

  async #tell({ number, body, attempts: before }: Row, now: number, url: unknown): Promise<void> {
    const fault = await post(url, body);
    const attempts = before + 1;
    const wait = fault === null ? null : retryIn(attempts);
    if (wait === null) {
      this.#sql.exec("DELETE FROM notices WHERE number = ?", number);
    } else {
      this.#sql.exec("UPDATE notices SET attempts = ?, due = ? WHERE number = ?", attempts, now + wait, number);
    }
    if (fault === null) return;
    // Without the URL, which is a secret.
    console.log(JSON.stringify({ event: "rollout_notice_failed", level: "warn", number, attempts, fault }));
  }
}

function bodyOf(entry: JournalEntry, { stage, format }: Audience): string {
  const text = `Sluiceway ${stage}: ${entry.sentence}`;
  if (format === "slack") return JSON.stringify({ text });
  const notice: Notice = { event: "rollout", text, stage, ...entry };
  return JSON.stringify(notice);
}
