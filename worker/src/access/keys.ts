import type { Budget } from "../config-policies.ts";
import type { RefusalReason } from "./credential.ts";

/** What a key is made with. Null means no limit of its own. */
export interface KeySpec {
  readonly name: string;
  readonly owner: string | null;
  readonly team: string | null;
  readonly models: readonly string[] | null;
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly budgets: readonly Budget[];
  /** Milliseconds since the epoch. */
  readonly expiresAt: number | null;
}

/**
 * One secret of a key, as its sha256. A plain digest is enough here, and right: the secret is 256 random bits, so there
 * is nothing to guess from a stolen digest that a slow hash would make slower, while a slow hash on each request would
 * hand anybody a lever to use up the gateway's CPU time.
 */
export interface KeySecret {
  /** Of the key's whole text, 64 hex digits. */
  readonly sha256: string;
  /** End of the grace time of one that was rotated out; null for the present one. */
  readonly until: number | null;
}

/** A key as the ring keeps it: all but its text. */
export interface KeyRecord extends KeySpec {
  readonly id: string;
  readonly createdAt: number;
  readonly rotatedAt: number | null;
  readonly revokedAt: number | null;
  /** The present one first. */
  readonly secrets: readonly KeySecret[];
}

export type KeyState = "active" | "expired" | "revoked";

/** Secrets that are valid at once, however often a key is rotated within its grace time. */
const MOST_SECRETS = 5;

export function makeKey(id: string, spec: KeySpec, sha256: string, now: number): KeyRecord {
  return { ...spec, id, createdAt: now, rotatedAt: null, revokedAt: null, secrets: [{ sha256, until: null }] };
}

export function stateOf(key: Pick<KeyRecord, "revokedAt" | "expiresAt">, now: number): KeyState {
  if (key.revokedAt !== null) return "revoked";
  return key.expiresAt !== null && key.expiresAt <= now ? "expired" : "active";
}

/** The key with a new secret; the secrets before it are good for `graceMs` more, and none for longer than it was. */
export function rotateKey(key: KeyRecord, sha256: string, graceMs: number, now: number): KeyRecord {
  const end = now + graceMs;
  const old = key.secrets
    .map((secret) => ({ ...secret, until: Math.min(secret.until ?? end, end) }))
    .filter(({ until }) => until > now);
  const secrets = [{ sha256, until: null }, ...old].slice(0, MOST_SECRETS);
  return { ...key, rotatedAt: now, secrets };
}

/** The key, closed for good. A second time changes nothing: the first moment is the one to know. */
export function revokeKey(key: KeyRecord, now: number): KeyRecord {
  return { ...key, revokedAt: key.revokedAt ?? now };
}

/** What a key's text is checked against, parsed once for each answer of the ring. */
export interface KeyCheck {
  readonly revokedAt: number | null;
  readonly expiresAt: number | null;
  readonly secrets: readonly { readonly digest: Uint8Array; readonly until: number | null }[];
}

/** Why a text with this digest doesn't open the key now, or null when it does. */
export function keyFault(
  key: KeyCheck,
  digest: Uint8Array,
  now: number,
  same: (a: Uint8Array, b: Uint8Array) => boolean,
): RefusalReason | null {
  const { secrets } = key;
  let known = false;
  let valid = false;
  // All are looked at, whichever fits, so that the time tells nothing.
  for (const { digest: right, until } of secrets) {
    const fits = same(digest, right);
    known ||= fits;
    valid ||= fits && (until === null || now < until);
  }
  if (!known) return "key_secret";
  const state = stateOf(key, now);
  if (state !== "active") return state === "revoked" ? "key_revoked" : "key_expired";
  return valid ? null : "key_expired";
}
