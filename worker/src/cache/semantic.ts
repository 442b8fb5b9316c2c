import type { Answer } from "../backends/backend.ts";
import { backendOf } from "../backends/choose.ts";
import { reserve } from "../budget/reserve.ts";
import { ConfigError, type GatewayConfig, type ModelVersion } from "../config.ts";
import type { GatewayContext } from "../gateway.ts";
import { within } from "../patience.ts";
import { estimateTokens } from "../tokens/estimate.ts";
import type { CacheStore, ExactCache } from "./exact.ts";
import { type CacheIdentity, keyOf } from "./key.ts";
import type { Question } from "./likeness.ts";
import { asText, fromText, type Packed, pack, similarity } from "./vectors.ts";

/** Longest that a request waits to be compared; then it goes on as a miss. */
const PATIENCE_MS = 2_000;
const KV_LEAST_TTL = 60;
const FORMAT = 1;

interface Near {
  /** Packed vector of the question. */
  readonly v: string;
  /** KV key of its answer. */
  readonly k: string;
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

interface Index {
  format: number;
  near: Near[];
}

/** One request's place among its like. */
export interface Place {
  /** KV key of the questions that differ from this one in their words alone. */
  readonly indexKey: string;
  readonly vector: Packed;
}

export interface Found {
  /** Null: nothing was near enough. */
  readonly answer: Answer | null;
  /** Where this request's own answer is to be put. Null: it can't be compared. */
  readonly place: Place | null;
}

const NOTHING: Found = { answer: null, place: null };

/**
 * Answers to nearly the same question. Of two requests of one tenant to one model version everything must be equal but
 * the words of the last message, and those must be near: the index under that "everything" lists vectors with the keys
 * of their answers, which lie in the exact cache. Whatever fails is a miss.
 *
 * Two answers that are put at once may cost one of them its place, since KV knows no transactions: it is asked again.
 */
export class SemanticCache {
  readonly #settings: NonNullable<GatewayConfig["cache"]["semantic"]>;
  readonly #version: ModelVersion;
  readonly #ref: string;
  readonly #exact: ExactCache;
  readonly #ttl: number;
  readonly #now: () => number;

  private constructor(config: GatewayConfig, exact: ExactCache, now: () => number, ref: string, version: ModelVersion) {
    this.#settings = config.cache.semantic as NonNullable<GatewayConfig["cache"]["semantic"]>;
    this.#version = version;
    this.#ref = ref;
    this.#exact = exact;
    this.#ttl = config.cache.ttl;
    this.#now = now;
  }

  /** Null on a stage that has it off. Throws `ConfigError` for a model that makes no vectors. */
  static of(config: GatewayConfig, exact: ExactCache, now: () => number): SemanticCache | null {
    const name = config.cache.semantic?.model;
    if (name === undefined) return null;
    const model = Object.hasOwn(config.models, name) ? config.models[name] : undefined;
    // The stable version: vectors of two models can't be compared.
    const number = model?.split[0]?.[0];
    const version = number === undefined ? undefined : model?.versions[number];
    if (version === undefined || model?.task !== "embed") {
      throw new ConfigError("cache.semantic.model", `\`${name}\` is no model of task embed`);
    }
    return new SemanticCache(config, exact, now, `${name}@${number}`, version);
  }

  async find(c: GatewayContext, identity: CacheIdentity, question: Question): Promise<Found> {
    try {
      return (await within(PATIENCE_MS, this.#find(c, identity, question))) ?? NOTHING;
    } catch {
      return NOTHING;
    }
  }

  async #find(c: GatewayContext, identity: CacheIdentity, question: Question): Promise<Found> {
    const { release, model } = identity;
    const [indexKey, vector] = await Promise.all([
      keyOf("semantic", release, model, { ...identity, body: question.rest, by: this.#ref }),
      this.#vectorOf(c, question.text),
    ]);
    if (vector === null) return NOTHING;
    const best = nearest(await this.#read(c.env.CACHE, indexKey), vector);
    const close = best !== null && best.score >= this.#settings.threshold;
    const answer = close ? await this.#exact.find(c.env.CACHE, best.key) : null;
    return { answer, place: { indexKey, vector } };
  }

  /** Null when the caller's budget has nothing left for it, and for a text with words that the model doesn't know. */
  async #vectorOf(c: GatewayContext, text: string): Promise<Packed | null> {
    const version = this.#version;
    const tokens = estimateTokens(text);
    const held = await reserve(c, { promptTokens: tokens, mostTokens: 0, spec: version });
    try {
      if (held.insteadOf !== null) return null;
      const gateway = c.get("gateway");
      const record = c.get("record");
      const call = { version, input: [text], dimensions: null, gateway: gateway.config.gateway };
      const { signal } = c.req.raw;
      const { vectors, usage, unknown } = await backendOf(version, c.env).embed({ ...call, signal });
      const estimate = { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens };
      record.costUsd = (record.costUsd ?? 0) + held.settle(usage ?? estimate, version);
      return unknown ? null : pack(vectors[0] ?? []);
    } finally {
      held.release();
    }
  }

  /** Lists an answer that is kept under `key`. */
  async keep(store: CacheStore, place: Place, key: string): Promise<void> {
    try {
      const others = (await this.#read(store, place.indexKey)).filter(({ k }) => k !== key);
      const mine = { v: asText(place.vector), k: key, expires: this.#now() + this.#ttl * 1000 };
      const index: Index = { format: FORMAT, near: [...others, mine].slice(-this.#settings.entries) };
      const expirationTtl = Math.max(this.#ttl, KV_LEAST_TTL);
      await store.put(place.indexKey, JSON.stringify(index), { expirationTtl });
    } catch {
      // KV over its limits, or down: the answer stands in the exact cache alone.
    }
  }

  async #read(store: CacheStore, indexKey: string): Promise<Near[]> {
    const index = await store.get<Index>(indexKey, "json");
    if (index?.format !== FORMAT) return [];
    return index.near.filter(({ expires }) => expires > this.#now());
  }
}

function nearest(near: readonly Near[], vector: Packed): { key: string; score: number } | null {
  let best: { key: string; score: number } | null = null;
  for (const { v, k } of near) {
    const score = similarity(fromText(v), vector);
    if (best === null || score > best.score) best = { key: k, score };
  }
  return best;
}
