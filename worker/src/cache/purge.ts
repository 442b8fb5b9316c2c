import { isOfModel, KINDS, prefixOf } from "./key.ts";

/** What to purge: one release's answers, one model's in any release, or both together. */
export interface Purge {
  readonly release?: string | undefined;
  readonly model?: string | undefined;
}

/** `complete` false: there is more; the next call goes on. */
export interface Purged {
  readonly deleted: number;
  readonly complete: boolean;
}

/** The part of the environment that a purge uses. */
export interface PurgeEnv {
  readonly CACHE: Pick<KVNamespace, "list" | "delete">;
}

/** A request may make 1,000 calls to KV; some are left for whatever else it does. */
const MOST_CALLS = 900;
const AT_ONCE = 50;

/**
 * Deletes kept answers. KV and the isolates may give what they hold of it for another minute. Purging neither by release
 * nor by model is no mistake: it empties the cache.
 */
export async function purge(env: PurgeEnv, { release, model }: Purge, mostCalls = MOST_CALLS): Promise<Purged> {
  let calls = 0;
  let deleted = 0;
  for (const kind of KINDS) {
    const prefix = release === undefined ? `${kind}/` : prefixOf(kind, release);
    let cursor: string | undefined;
    do {
      if (calls >= mostCalls) return { deleted, complete: false };
      const page = await env.CACHE.list({ prefix, ...(cursor !== undefined && { cursor }) });
      calls += 1;
      const names = page.keys.map(({ name }) => name).filter((name) => model === undefined || isOfModel(name, model));
      const allowed = names.slice(0, mostCalls - calls);
      await inTurns(allowed, (name) => env.CACHE.delete(name));
      calls += allowed.length;
      deleted += allowed.length;
      if (allowed.length < names.length) return { deleted, complete: false };
      cursor = page.list_complete ? undefined : page.cursor;
    } while (cursor !== undefined);
  }
  return { deleted, complete: true };
}

async function inTurns(names: readonly string[], work: (name: string) => Promise<void>): Promise<void> {
  for (let at = 0; at < names.length; at += AT_ONCE) await Promise.all(names.slice(at, at + AT_ONCE).map(work));
}
