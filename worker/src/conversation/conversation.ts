import { DurableObject } from "cloudflare:workers";
import type { Message } from "../backends/backend.ts";
import { type Addition, type History, joined, NO_HISTORY, type Turn, trimmed } from "./core.ts";

/** How a conversation is kept. */
export interface Keeping {
  readonly windowTokens: number;
  /** Seconds without a request after which it is deleted. */
  readonly ttl: number;
  /** Whether what falls out of the window waits to be summed up. Otherwise it is forgotten at once. */
  readonly summarised: boolean;
}

/** Turns that fell out of the window and are in no summary yet, by their numbers. */
export interface Fallen {
  readonly summary: string | null;
  readonly turns: readonly Turn[];
  readonly from: number;
  readonly upTo: number;
}

interface Row extends Record<string, SqlStorageValue> {
  seq: number;
  messages: string;
  tokens: number;
}

/** Turns that wait for a summary that never comes are forgotten beyond this. */
const MOST_WAITING = 200;

/** The turns of one conversation: needs no binding. Storage and time here, decisions in `core.ts`. */
export class Conversation extends DurableObject<unknown> {
  /** Whether the tables are known to be there. Whoever only asks makes none: ids are anybody's to make up. */
  #made = false;

  recall(): History {
    if (!this.#isKept()) return NO_HISTORY;
    const system = this.#note("system");
    return {
      system: system === null ? [] : (JSON.parse(system) as Message[]),
      summary: this.#note("summary"),
      turns: this.#rows(0).map(turnOf),
    };
  }

  /** Adds a request and its answer; gives what is to be summed up. */
  append(addition: Addition, keeping: Keeping): Fallen | null {
    this.#makeTables();
    return this.ctx.storage.transactionSync(() => {
      if (addition.system !== null) this.#setNote("system", JSON.stringify(addition.system));
      const rows = this.#rows(0);
      const { same, turns } = joined(rows.map(turnOf), addition.messages);
      this.#write(turns.slice(same), rows[same]?.seq ?? this.#nextSeq());
      return this.#settleInto(keeping);
    });
  }

  /** Begins, anew if it must, as the continuation of another conversation, which stays as it is. */
  branch(history: History, addition: Addition, keeping: Keeping): Fallen | null {
    this.#makeTables();
    return this.ctx.storage.transactionSync(() => {
      for (const table of ["turns", "notes"]) this.ctx.storage.sql.exec(`DELETE FROM ${table}`);
      this.#setNote("system", JSON.stringify(history.system));
      if (history.summary !== null) this.#setNote("summary", history.summary);
      this.#write(history.turns, 1);
      return this.append(addition, keeping);
    });
  }

  /** Puts a summary in the place of the turns that it is made of, unless another was faster. */
  sumUp({ from, upTo }: Pick<Fallen, "from" | "upTo">, summary: string): void {
    if (!this.#isKept()) return;
    this.ctx.storage.transactionSync(() => {
      if (this.#rows(1)[0]?.seq !== from) return;
      this.#setNote("summary", summary);
      this.ctx.storage.sql.exec("DELETE FROM turns WHERE fallen = 1 AND seq <= ?", upTo);
    });
  }

  async forget(): Promise<void> {
    // The object may live on, but its tables go with the rest: then nothing is left of it that would stay for good.
    this.#made = false;
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  override alarm(): Promise<void> {
    return this.forget();
  }

  /** Lets fall what is out of the window, and starts the time to live anew. */
  #settleInto(keeping: Keeping): Fallen | null {
    const { sql } = this.ctx.storage;
    const rows = this.#rows(0);
    const { fallen } = trimmed(rows.map(turnOf), keeping.windowTokens);
    const upTo = fallen.length === 0 ? 0 : (rows[fallen.length - 1]?.seq ?? 0);
    if (keeping.summarised) {
      sql.exec("UPDATE turns SET fallen = 1 WHERE seq <= ?", upTo);
      sql.exec(
        "DELETE FROM turns WHERE fallen = 1 AND seq NOT IN (SELECT seq FROM turns WHERE fallen = 1 ORDER BY seq DESC LIMIT ?)",
        MOST_WAITING,
      );
    } else sql.exec("DELETE FROM turns WHERE seq <= ? OR fallen = 1", upTo);
    void this.ctx.storage.setAlarm(Date.now() + keeping.ttl * 1000);
    const waiting = this.#rows(1);
    const [first, last] = [waiting[0], waiting.at(-1)];
    if (first === undefined || last === undefined) return null;
    return { summary: this.#note("summary"), turns: waiting.map(turnOf), from: first.seq, upTo: last.seq };
  }

  #write(turns: readonly Turn[], from: number): void {
    for (const [index, { messages, tokens }] of turns.entries()) {
      const values = [from + index, JSON.stringify(messages), tokens];
      this.ctx.storage.sql.exec("INSERT OR REPLACE INTO turns (seq, messages, tokens) VALUES (?, ?, ?)", ...values);
    }
  }

  #rows(fallen: 0 | 1): Row[] {
    const { sql } = this.ctx.storage;
    return sql.exec<Row>("SELECT seq, messages, tokens FROM turns WHERE fallen = ? ORDER BY seq", fallen).toArray();
  }

  #nextSeq(): number {
    return this.ctx.storage.sql.exec<{ next: number }>("SELECT COALESCE(MAX(seq), 0) + 1 AS next FROM turns").one()
      .next;
  }

  #note(name: string): string | null {
    const { sql } = this.ctx.storage;
    return sql.exec<{ value: string }>("SELECT value FROM notes WHERE name = ?", name).toArray()[0]?.value ?? null;
  }

  #setNote(name: string, value: string): void {
    this.ctx.storage.sql.exec("INSERT OR REPLACE INTO notes VALUES (?, ?)", name, value);
  }

  #isKept(): boolean {
    this.#made ||= this.ctx.storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'turns'").toArray().length > 0;
    return this.#made;
  }

  #makeTables(): void {
    if (this.#isKept()) return;
    const { sql } = this.ctx.storage;
    // `fallen`: out of the window, and waiting to be summed up.
    sql.exec(
      "CREATE TABLE IF NOT EXISTS turns (seq INTEGER PRIMARY KEY, messages TEXT NOT NULL, tokens INTEGER NOT NULL, fallen INTEGER NOT NULL DEFAULT 0)",
    );
    sql.exec("CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT NOT NULL)");
  }
}

function turnOf({ messages, tokens }: Row): Turn {
  return { messages: JSON.parse(messages) as Message[], tokens };
}
