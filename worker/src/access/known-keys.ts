import { put } from "../bounded-map.ts";
import { within } from "../patience.ts";
import { unavailable } from "./credential.ts";
import type { KeyCheck, KeyRecord } from "./keys.ts";
import { NOBODY, type Principal } from "./principal.ts";

/** Part of the ring that an isolate asks. */
export interface KeySource {
  lookup(id: string): Promise<KeyRecord | null>;
}

/** A key as requests use it: nothing is parsed or built for each of them. */
export interface KnownKey extends KeyCheck {
  readonly principal: Principal;
}

interface Entry {
  readonly key: KnownKey;
  /** When the question was asked that `key` answers: the answer is no older than that. */
  readonly askedAt: number;
  /** When it was last tried, whether that try is still open, and whether the last one that ended has failed. */
  triedAt: number;
  asking: boolean;
  down: boolean;
  /** When it was asked for out of turn. */
  renewedAt: number;
}

/** Age at which a key in use is asked for again beside the request, so that none waits. */
const RENEW_MS = 1_000;
/** Age from which no answer of the ring is used: what is revoked is refused within this time. */
const FRESH_MS = 2_000;
/** Age to which the last answer stands in for a ring that can't be reached. */
const LAST_KNOWN_MS = 60_000;
/** A text that doesn't fit may be a rotated key's new one: the ring is asked, for one key no more often than this. */
const ANEW_MS = 500;
/** Longest wait for the ring. */
const PATIENCE_MS = 1_500;
/** Bounds of memory. Ids that don't exist are anybody's to make up, so they have a store of their own. */
const MOST_KNOWN = 5_000;
const MOST_UNKNOWN = 1_000;

/** The stage's keys as this isolate knows them. Plain values only: a promise belongs to the request that made it. */
export class KnownKeys {
  readonly #now: () => number;
  readonly #known = new Map<string, Entry>();
  /** Ids that the ring doesn't know, and when it was asked. */
  readonly #unknown = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Whether `find` needs no answer of the ring to know something of this id. */
  hasHeardOf(id: string): boolean {
    return this.#known.has(id) || this.#now() - (this.#unknown.get(id) ?? Number.NEGATIVE_INFINITY) < FRESH_MS;
  }

  /** The key, or null when there is none. Throws the 503 when the ring doesn't answer and nothing is known. */
  async find(id: string, source: () => KeySource, later: (work: Promise<unknown>) => void): Promise<KnownKey | null> {
    const now = this.#now();
    const entry = this.#known.get(id);
    if (entry !== undefined) {
      const age = now - entry.askedAt;
      const trying = entry.asking && now - entry.triedAt < PATIENCE_MS;
      if (age < FRESH_MS) {
        if (age >= RENEW_MS && !trying && now - entry.triedAt >= RENEW_MS) {
          later(this.#ask(id, source).catch(() => undefined));
        }
        return entry.key;
      }
      // While the ring is down, one request in a while finds out whether it still is; the others don't wait for it.
      const waits = trying || now - entry.triedAt < FRESH_MS;
      if (age < LAST_KNOWN_MS && entry.down && waits) return entry.key;
    } else if (now - (this.#unknown.get(id) ?? Number.NEGATIVE_INFINITY) < FRESH_MS) return null;
    try {
      return await this.#ask(id, source);
    } catch (cause) {
      if (entry !== undefined && now - entry.askedAt < LAST_KNOWN_MS) return entry.key;
      throw unavailable(cause);
    }
  }

  /** The key as the ring has it now, or null when it was asked just before, or doesn't answer. */
  async findAnew(id: string, source: () => KeySource): Promise<KnownKey | null> {
    const entry = this.#known.get(id);
    const now = this.#now();
    if (entry === undefined || now - entry.renewedAt < ANEW_MS) return null;
    entry.renewedAt = now;
    return this.#ask(id, source).catch(() => null);
  }

  async #ask(id: string, source: () => KeySource): Promise<KnownKey | null> {
    const askedAt = this.#now();
    const before = this.#known.get(id);
    if (before !== undefined) Object.assign(before, { triedAt: askedAt, asking: true });
    try {
      const record = await within(PATIENCE_MS, source().lookup(id));
      if (record === undefined) throw new Error("the key ring did not answer in time");
      return this.#learn(id, record, askedAt);
    } catch (error) {
      if (before !== undefined) Object.assign(before, { triedAt: this.#now(), asking: false, down: true });
      throw error;
    }
  }

  #learn(id: string, record: KeyRecord | null, askedAt: number): KnownKey | null {
    // Answers may overtake each other; the later question's is the newer.
    const newer = this.#known.get(id);
    if (newer !== undefined && newer.askedAt > askedAt) return newer.key;
    if (record === null) {
      this.#known.delete(id);
      put(this.#unknown, id, askedAt, MOST_UNKNOWN);
      return null;
    }
    const key = known(record);
    this.#unknown.delete(id);
    const renewedAt = newer?.renewedAt ?? Number.NEGATIVE_INFINITY;
    put(this.#known, id, { key, askedAt, triedAt: askedAt, asking: false, down: false, renewedAt }, MOST_KNOWN);
    return key;
  }
}

function known(record: KeyRecord): KnownKey {
  const { id, name, owner, team, models, requestsPerMinute, tokensPerMinute, budgets } = record;
  return {
    revokedAt: record.revokedAt,
    expiresAt: record.expiresAt,
    secrets: record.secrets.map(({ sha256, until }) => ({ digest: bytesOf(sha256), until })),
    // By its id, so that a rotated key keeps its caches, limits and sums.
    principal: {
      ...NOBODY,
      ...{ tenant: id, via: "key", keyId: id, name, owner, team, models },
      ...{ requestsPerMinute, tokensPerMinute, budgets },
    },
  };
}

function bytesOf(hexDigits: string): Uint8Array {
  return Uint8Array.from(hexDigits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}
