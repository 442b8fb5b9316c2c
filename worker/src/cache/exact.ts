import type { Answer } from "../backends/backend.ts";
import type { ChatRequest } from "../chat/request.ts";
import type { GatewayConfig } from "../config.ts";
import { within } from "../patience.ts";

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

  /** `stale`: seconds for which an answer is kept beyond its time, for when no backend answers. */
  constructor(settings: GatewayConfig["cache"], now: () => number, stale = 0) {
    this.#settings = settings;
    this.#now = now;
    this.#staleMs = stale * 1000;
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

  /** `stale`: also an answer whose time is over. */
  async find(store: CacheStore, key: string, { stale = false } = {}): Promise<Answer | null> {
    try {
      const entry = await within(PATIENCE_MS, store.get<Entry>(key, "json"));
      if (!entry || entry.format !== FORMAT) return null;
      if (!(entry.expires + (stale ? this.#staleMs : 0) > this.#now())) return null;
      return isKeepable(entry.answer) ? entry.answer : null;
    } catch {
      return null;
    }
  }

  /** Keeps a whole answer; anything else, and any failure, leaves the cache as it was. */
  async keep(store: CacheStore, key: string, answer: Answer): Promise<void> {
    try {
      if (!isKeepable(answer)) return;
      const { ttl } = this.#settings;
      const entry: Entry = { format: FORMAT, expires: this.#now() + ttl * 1000, answer };
      const text = JSON.stringify(entry);
      if (text.length > LARGEST_ENTRY) return;
      await store.put(key, text, { expirationTtl: Math.max(ttl + this.#staleMs / 1000, KV_LEAST_TTL) });
    } catch {
      // KV over its limits, or down: the answer is simply not kept.
    }
  }
}

/** Whole answers in words only: not cut by the cap, not calling tools, not empty. */
function isKeepable(answer: Answer): boolean {
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
