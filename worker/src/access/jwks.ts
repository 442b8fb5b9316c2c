import type { JWK } from "jose";
import { importJWK } from "jose/key/import";
import { within } from "../patience.ts";
import { Refused, unavailable } from "./credential.ts";

/** Age at which a set is asked for again, beside a request. */
const RENEW_MS = 300_000;
/** Age to which the last set stands in for an issuer that can't be reached. */
const LAST_KNOWN_MS = 86_400_000;
/** A key that is not in the set may be new: the issuer is asked for it, and at most once in this time. */
const COOLDOWN_MS = 30_000;
/** After a failure with no set at all, nobody is asked for this long. */
const DOWN_MS = 2_000;
const PATIENCE_MS = 3_000;
const MOST_CHARACTERS = 262_144;

/** What a key must be to be one of the algorithm's. */
const KINDS: Record<string, { readonly kty: string; readonly crv?: string }> = {
  ...{ RS256: { kty: "RSA" }, RS384: { kty: "RSA" }, RS512: { kty: "RSA" } },
  ...{ PS256: { kty: "RSA" }, PS384: { kty: "RSA" }, PS512: { kty: "RSA" } },
  ES256: { kty: "EC", crv: "P-256" },
  ES384: { kty: "EC", crv: "P-384" },
  ES512: { kty: "EC", crv: "P-521" },
  EdDSA: { kty: "OKP", crv: "Ed25519" },
};

interface Known {
  readonly keys: readonly JWK[];
  /** By place in `keys` and algorithm. */
  readonly imported: Map<string, CryptoKey>;
  readonly askedAt: number;
}

/**
 * The public keys of one issuer. Its own keeper in place of jose's, which shares the promise of a fetch or an import
 * among requests: in this runtime a promise dies with the request that made it, and takes the others along.
 */
export class KeySet {
  readonly #uri: string;
  readonly #now: () => number;
  #known: Known | null = null;
  #triedAt = Number.NEGATIVE_INFINITY;
  #failedAt = Number.NEGATIVE_INFINITY;
  #asking = false;

  constructor(uri: string, now: () => number) {
    this.#uri = uri;
    this.#now = now;
  }

  /** The key that a token names. Throws the 401 when there is none, the 503 when the issuer never answered. */
  async find(kid: string | undefined, alg: string, later: (work: Promise<unknown>) => void): Promise<CryptoKey> {
    const known = await this.#current(later);
    const key = await pick(known, kid, alg);
    if (key !== null) return key;
    const newer = await this.#rotated(known, later);
    const rotated = newer === null ? null : await pick(newer, kid, alg);
    if (rotated === null) throw new Refused("token_key_unknown");
    return rotated;
  }

  async #current(later: (work: Promise<unknown>) => void): Promise<Known> {
    const age = this.#now() - (this.#known?.askedAt ?? Number.NEGATIVE_INFINITY);
    if (this.#known !== null && age < LAST_KNOWN_MS) {
      if (age >= RENEW_MS && this.#now() - this.#triedAt >= COOLDOWN_MS) later(this.#ask());
      return this.#known;
    }
    if (this.#now() - this.#failedAt >= DOWN_MS) await this.#askOrWait(later);
    const known = this.#known as Known | null;
    if (known === null || this.#now() - known.askedAt >= LAST_KNOWN_MS) throw unavailable();
    return known;
  }

  /** A set newer than the given one, or null. */
  async #rotated(before: Known, later: (work: Promise<unknown>) => void): Promise<Known | null> {
    if (this.#asking || this.#now() - this.#triedAt >= COOLDOWN_MS) await this.#askOrWait(later);
    return this.#known === before ? null : this.#known;
  }

  /** One request asks; those beside it look until the answer is there, since they can't wait for its promise. */
  async #askOrWait(later: (work: Promise<unknown>) => void): Promise<void> {
    if (!this.#asking || this.#now() - this.#triedAt >= PATIENCE_MS) {
      const work = this.#ask();
      later(work);
      return work;
    }
    for (let waited = 0; this.#asking && waited < PATIENCE_MS; waited += 20) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Never fails: without an answer the last known set stands. */
  async #ask(): Promise<void> {
    const askedAt = this.#now();
    this.#triedAt = askedAt;
    this.#asking = true;
    try {
      const keys = await within(PATIENCE_MS, fetchKeys(this.#uri));
      if (keys === undefined) this.#failedAt = this.#now();
      else this.#known = { keys, imported: new Map(), askedAt };
    } catch {
      this.#failedAt = this.#now();
    } finally {
      this.#asking = false;
    }
  }
}

async function fetchKeys(uri: string): Promise<JWK[]> {
  // A redirect would let whoever controls it choose the keys.
  const response = await fetch(uri, { headers: { accept: "application/json" }, redirect: "manual" });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`the issuer's keys: HTTP ${response.status}`);
  }
  const text = await response.text();
  if (text.length > MOST_CHARACTERS) throw new Error("the issuer's keys are too long");
  const { keys } = JSON.parse(text) as { keys?: unknown };
  if (!Array.isArray(keys)) throw new Error("the issuer's keys are no list");
  return keys.filter((key): key is JWK => typeof key === "object" && key !== null);
}

/** The one key that fits the token, imported; null when none does. Two that fit are none: nothing says which is meant. */
async function pick(known: Known, kid: string | undefined, alg: string): Promise<CryptoKey | null> {
  const fitting = known.keys.flatMap((key, at) => (fits(key, kid, alg) ? [at] : []));
  const at = fitting[0];
  if (at === undefined || fitting.length > 1) return null;
  const name = `${at} ${alg}`;
  const kept = known.imported.get(name);
  if (kept !== undefined) return kept;
  const key = await importJWK(known.keys[at] as JWK, alg).catch(() => null);
  if (key === null || key instanceof Uint8Array || key.type !== "public") return null;
  known.imported.set(name, key);
  return key;
}

function fits(key: JWK, kid: string | undefined, alg: string): boolean {
  const kind = Object.hasOwn(KINDS, alg) ? KINDS[alg] : undefined;
  if (kind === undefined || key.kty !== kind.kty || (kind.crv !== undefined && key.crv !== kind.crv)) return false;
  if (kid !== undefined && key.kid !== kid) return false;
  if (key.alg !== undefined && key.alg !== alg) return false;
  return (key.use === undefined || key.use === "sig") && (key.key_ops?.includes("verify") ?? true);
}
