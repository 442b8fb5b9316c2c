import type { Rollouts } from "../config-rollout.ts";

/** Who is told of transitions, and by what name the stage goes: as the newest worker version says. */
export interface Audience extends Rollouts {
  readonly stage: string;
  /** The order of the spec that said so. */
  readonly order: string;
}

/** Small things that the shell remembers beside the core's state. */
export class Facts {
  readonly #sql: SqlStorage;
  #audience: Audience | null | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec("CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID");
  }

  get audience(): Audience | null {
    if (this.#audience === undefined) this.#audience = this.#get<Audience>("audience");
    return this.#audience;
  }

  set audience(audience: Audience) {
    this.#put("audience", audience);
    this.#audience = audience;
  }

  /** 1, 2, 3 over all restarts. */
  nextThumb(): number {
    const number = (this.#get<number>("thumb") ?? 0) + 1;
    this.#put("thumb", number);
    return number;
  }

  #get<T>(name: string): T | null {
    const [row] = this.#sql.exec<{ json: string }>("SELECT json FROM facts WHERE name = ?", name).toArray();
    return row === undefined ? null : (JSON.parse(row.json) as T);
  }

  #put(name: string, value: unknown): void {
    this.#sql.exec("INSERT OR REPLACE INTO facts VALUES (?, ?)", name, JSON.stringify(value));
  }
}
