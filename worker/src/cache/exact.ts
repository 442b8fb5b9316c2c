import type { Answer } from "../backends/backend.ts";
import type { ChatRequest } from "../chat/request.ts";
import type { GatewayConfig } from "../config.ts";
import { within } from "../patience.ts";
import { RecentAnswers } from "./recent.ts";

/** KV refuses shorter lives; a shorter one of ours is enforced by the entry itself. */
const KV_LEAST_TTL = 60;
/** An answer larger than this is not worth its keep; KV itself stops at 25 MiB. */
const LARGEST_ENTRY = 1_048_576;
/** A cache that is slower than this is no cache. */
const PATIENCE_MS = 500;
const FORMAT = 1;

interface Entry {
  format: number;
  /** Milliseconds since the epoch. */
  expires: number;
  answer: Answer;
}

/** The part of KV that the cache uses. */
export type CacheStore = Pick<KVNamespace, "get" | "put">;

/** Answers kept in KV under a digest of everything that shaped them. Whatever fails here is a miss. */
export class ExactCache {
  readonly #settings: GatewayConfig["cache"];
  readonly #now: () => number;
  readonly #staleMs: number;
  readonly #recent: RecentAnswers;

  /** `stale`: seconds for which an answer is kept beyond its time, for when no backend answers. */
  constructor(settings: GatewayConfig["cache"], now: () => number, stale = 0) {
    this.#settings = settings;
    this.#now = now;
    this.#staleMs = stale * 1000;
    this.#recent = new RecentAnswers(now);
  }

  /**
   * Whether a request may be answered from the cache and its answer kept. One that leaves the temperature open asks
   * for variety, and is kept only where the stage or the client says so.
   */
  admits(request: ChatRequest, headers: Headers): boolean {
    if (!this.#settings.enabled || this.#settings.ttl === 0) return false;
    const wish = headers.get("x-sluiceway-cache")?.trim().toLowerCase();
    if (wish === "bypass" || /\bno-(cache|store)\b/i.test(headers.get("cache-control") ?? "")) return false;
    return wish === "use" || this.#settings.sampled || request.parameters.temperature !== undefined;
  }

  /** An answer that this isolate has at hand: no call. */
  recent(key: string): Answer | null {
    return this.#recent.get(key);
  }

  /** Drops what is at hand: KV was purged. */
  forget(): void {
    this.#recent.clear();
  }

  /** `stale`: also an answer whose time is over. */
  async find(store: CacheStore, key: string, { stale = false } = {}): Promise<Answer | null> {
    const recent = this.#recent.get(key);
    if (recent !== null) return recent;
    try {
      const text = await within(PATIENCE_MS, store.get(key));
      if (!text) return null;
      const { format, expires, answer } = JSON.parse(text) as Entry;
      if (format !== FORMAT || !isKeepable(answer)) return null;
      if (expires > this.#now()) this.#recent.put(key, answer, text.length, expires);
      return expires + (stale ? this.#staleMs : 0) > this.#now() ? answer : null;
    } catch {
      return null;
    }
  }

  /** Keeps a whole answer; anything else, and any failure, leaves KV as it was. Whether it was kept. */
  async keep(store: CacheStore, key: string, answer: Answer): Promise<boolean> {
    try {
      if (!isKeepable(answer)) return false;
      const { ttl } = this.#settings;
      const entry: Entry = { format: FORMAT, expires: this.#now() + ttl * 1000, answer };
      const text = JSON.stringify(entry);
      if (text.length > LARGEST_ENTRY) return false;
      this.#recent.put(key, answer, text.length, entry.expires);
      await store.put(key, text, { expirationTtl: Math.max(ttl + this.#staleMs / 1000, KV_LEAST_TTL) });
      return true;
    } catch {
      // KV over its limits, or down: the answer lives on in this isolate alone.
      return false;
    }
  }
}

/** Whole answers in words only: not cut by the cap, not calling tools, not empty. */
export function isKeepable(answer: Answer): boolean {
  return (
    answer.choices.length > 0 &&
    answer.choices.every(
      ({ finish_reason, message }) =>
        finish_reason === "stop" &&
        typeof message.content === "string" &&
        message.content !== "" &&
        (message.tool_calls === undefined || message.tool_calls === null || isEmptyList(message.tool_calls)),
    )
  );
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
