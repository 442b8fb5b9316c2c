import { DurableObject } from "cloudflare:workers";
import { type KeyRecord, type KeySpec, makeKey, revokeKey, rotateKey, stateOf } from "./keys.ts";

interface Row extends Record<string, SqlStorageValue> {
  seq: number;
  body: string;
}

/** How a change ended. Errors lose their class on the way out of an object, so a refusal is a value. */
export type KeyChange =
  | { readonly key: KeyRecord }
  /** `exists`: an active key has this name, and its id is `id`. `closed`: it is revoked or expired. */
  | { readonly fault: "exists" | "unknown" | "closed"; readonly id: string };

export interface KeyPage {
  readonly keys: readonly KeyRecord[];
  /** Where the next page begins; null after the last. */
  readonly next: number | null;
}

/** Owner of the stage's API keys: needs no binding. Storage here, decisions in `keys.ts`; the caller tells the time. */
export class KeyRing extends DurableObject<unknown> {
  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env);
    ctx.storage.sql.exec(
      `CREATE TABLE IF NOT EXISTS keys (
        seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, body TEXT NOT NULL)`,
    );
    ctx.storage.sql.exec("CREATE INDEX IF NOT EXISTS keys_by_name ON keys (name)");
  }

  /** The key with this id, revoked and expired ones too; null when there never was one. */
  lookup(id: string): KeyRecord | null {
    const row = this.ctx.storage.sql.exec<Row>("SELECT seq, body FROM keys WHERE id = ?", id).toArray()[0];
    return row === undefined ? null : (JSON.parse(row.body) as KeyRecord);
  }

  /** Keeps a new key. An active key's name is its own, so that people can say which they mean. */
  create(id: string, spec: KeySpec, sha256: string, now: number): KeyChange {
    const { sql } = this.ctx.storage;
    const namesakes = sql.exec<Row>("SELECT seq, body FROM keys WHERE name = ?", spec.name).toArray();
    const taken = namesakes
      .map(({ body }) => JSON.parse(body) as KeyRecord)
      .find((key) => stateOf(key, now) === "active");
    if (taken !== undefined) return { fault: "exists", id: taken.id };
    const key = makeKey(id, spec, sha256, now);
    sql.exec("INSERT INTO keys (id, name, body) VALUES (?, ?, ?)", id, spec.name, JSON.stringify(key));
    return { key };
  }

  rotate(id: string, sha256: string, graceMs: number, now: number): KeyChange {
    const key = this.lookup(id);
    if (key === null) return { fault: "unknown", id };
    if (stateOf(key, now) !== "active") return { fault: "closed", id };
    return this.#keep(rotateKey(key, sha256, graceMs, now));
  }

  revoke(id: string, now: number): KeyChange {
    const key = this.lookup(id);
    return key === null ? { fault: "unknown", id } : this.#keep(revokeKey(key, now));
  }

  /** Keys in the order in which they were made, from the one after `after`. */
  list(after: number, limit: number): KeyPage {
    const rows = this.ctx.storage.sql
      .exec<Row>("SELECT seq, body FROM keys WHERE seq > ? ORDER BY seq LIMIT ?", after, limit + 1)
      .toArray();
    const shown = rows.slice(0, limit);
    const next = rows.length > limit ? (shown.at(-1)?.seq ?? null) : null;
    return { keys: shown.map(({ body }) => JSON.parse(body) as KeyRecord), next };
  }

  #keep(key: KeyRecord): KeyChange {
    this.ctx.storage.sql.exec("UPDATE keys SET body = ? WHERE id = ?", JSON.stringify(key), key.id);
    return { key };
  }
}
