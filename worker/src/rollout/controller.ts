import { DurableObject } from "cloudflare:workers";
import { type RolloutEntry, type RolloutSpec, type RolloutTable, seed } from "./core.ts";
import type { LiveSplits, StageSpec } from "./types.ts";

/** Specs remembered; an older one that comes back starts again as declared. */
const KEPT_SPECS = 100;

interface Row extends Record<string, SqlStorageValue> {
  digest: string;
  weights: string;
  seeded_at: number;
}

/** Owner of the stage's live split: needs no binding. Storage and time here, decisions in `core.ts`. */
export class RolloutController extends DurableObject<unknown> {
  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env);
    ctx.storage.sql.exec(
      "CREATE TABLE IF NOT EXISTS specs (digest TEXT PRIMARY KEY, weights TEXT NOT NULL, seeded_at INTEGER NOT NULL)",
    );
  }

  /** Live weights for a spec; the first call with a spec seeds them from it. */
  table(specDigest: string, spec: RolloutSpec): { weights: RolloutTable } {
    const known = this.#find(specDigest);
    const entry = seed(known, specDigest, spec, Date.now());
    if (entry !== known) this.#keep(entry);
    return { weights: entry.table };
  }

  /** Live splits of a worker version's spec. */
  splits(spec: StageSpec): LiveSplits {
    const declared = Object.fromEntries(Object.entries(spec.models).map(([name, { split }]) => [name, split]));
    return { revision: 0, weights: this.table(spec.digest, declared).weights, mirrors: {} };
  }

  #find(digest: string): RolloutEntry | null {
    const rows = this.ctx.storage.sql.exec<Row>("SELECT * FROM specs WHERE digest = ?", digest).toArray();
    const row = rows[0];
    if (row === undefined) return null;
    return { digest, table: JSON.parse(row.weights) as RolloutTable, seededAt: row.seeded_at };
  }

  #keep(entry: RolloutEntry): void {
    const { sql } = this.ctx.storage;
    const weights = JSON.stringify(entry.table);
    sql.exec("INSERT OR REPLACE INTO specs VALUES (?, ?, ?)", entry.digest, weights, entry.seededAt);
    sql.exec(
      "DELETE FROM specs WHERE digest NOT IN (SELECT digest FROM specs ORDER BY seeded_at DESC LIMIT ?)",
      KEPT_SPECS,
    );
  }
}
