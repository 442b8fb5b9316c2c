import { encoder } from "../digest.ts";

/** Signed tokens (RFC 7515, 7519) in their compact form, on the runtime's own cryptography. */

export type Claims = Readonly<Record<string, unknown>>;

export interface Token {
  readonly header: { readonly alg?: unknown; readonly kid?: unknown; readonly [name: string]: unknown };
  readonly claims: Claims;
  readonly signed: Uint8Array;
  readonly signature: Uint8Array;
}

/** What is asked of a token's claims. Times in seconds. */
export interface Wanted {
  readonly issuer: string;
  readonly audience: readonly string[];
  readonly leeway: number;
  readonly now: number;
}

export type JwkOf = Readonly<JsonWebKey> & { readonly kid?: unknown };

const SHORTEST_RSA = 2_048;
const CURVES: Readonly<Record<string, string>> = { "256": "P-256", "384": "P-384", "512": "P-521" };
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

interface Algorithm {
  readonly kty: string;
  readonly crv?: string;
  /** To WebCrypto, importing and verifying. */
  readonly crypto: SubtleCryptoImportKeyAlgorithm & SubtleCryptoSignAlgorithm;
}

/** Null: none that we verify. Those with a shared secret are none. */
function algorithmOf(alg: string): Algorithm | null {
  if (alg === "EdDSA") return { kty: "OKP", crv: "Ed25519", crypto: { name: "Ed25519" } };
  const [, family, bits = ""] = /^(RS|PS|ES)(256|384|512)$/.exec(alg) ?? [];
  if (family === undefined) return null;
  const hash = `SHA-${bits}`;
  if (family === "RS") return { kty: "RSA", crypto: { name: "RSASSA-PKCS1-v1_5", hash } };
  if (family === "PS") return { kty: "RSA", crypto: { name: "RSA-PSS", hash, saltLength: Number(bits) / 8 } };
  const crv = CURVES[bits] as string;
  return { kty: "EC", crv, crypto: { name: "ECDSA", hash, namedCurve: crv } };
}

/** A token's parts as it states them: nothing of it is believed yet. Throws for what is none. */
export function readToken(text: string): Token {
  const [header = "", claims = "", signature = ""] = text.split(".");
  const read = { header: objectOf(header), claims: objectOf(claims), signature: bytesOf(signature) };
  // What must be understood to be believed is nothing that we know.
  if (Object.hasOwn(read.header, "crit")) throw new Error("critical header");
  return { ...read, signed: encoder.encode(`${header}.${claims}`) };
}

function objectOf(part: string): Record<string, unknown> {
  const value: unknown = JSON.parse(strict.decode(bytesOf(part)));
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("no object");
  return value as Record<string, unknown>;
}

function bytesOf(part: string): Uint8Array {
  return Uint8Array.from(atob(part.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
}

/** Whether a published key is one for these signatures. */
export function isFor(key: JwkOf, alg: string): boolean {
  const algorithm = algorithmOf(alg);
  if (algorithm === null || key.kty !== algorithm.kty) return false;
  if (algorithm.crv !== undefined && key.crv !== algorithm.crv) return false;
  if (key.alg !== undefined && key.alg !== alg) return false;
  return (key.use === undefined || key.use === "sig") && (key.key_ops?.includes("verify") ?? true);
}

/** The key, ready to verify; null for one that is private, short, or none at all. */
export async function importKey(key: JwkOf, alg: string): Promise<CryptoKey | null> {
  const algorithm = algorithmOf(alg);
  if (algorithm === null || key.d !== undefined) return null;
  try {
    // What it says of its use was looked at before.
    const { use: _use, key_ops: _ops, alg: _alg, ...jwk } = key as JsonWebKey;
    const imported = await crypto.subtle.importKey("jwk", jwk, algorithm.crypto, false, ["verify"]);
    const { modulusLength } = imported.algorithm as { modulusLength?: number };
    return imported.type === "public" && (modulusLength ?? SHORTEST_RSA) >= SHORTEST_RSA ? imported : null;
  } catch {
    return null;
  }
}

export async function isSigned(token: Token, key: CryptoKey, alg: string): Promise<boolean> {
  const algorithm = algorithmOf(alg);
  if (algorithm === null) return false;
  return crypto.subtle.verify(algorithm.crypto, key, token.signature, token.signed).catch(() => false);
}

/** The first claim that is not as it must be; null when all are. `exp` must be there. */
export function wrongClaim({ iss, aud, iat, nbf, exp }: Claims, { issuer, audience, leeway, now }: Wanted) {
  if (iss !== issuer) return "iss";
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!audience.some((one) => named.includes(one))) return "aud";
  if (iat !== undefined && typeof iat !== "number") return "iat";
  if (nbf !== undefined && !(typeof nbf === "number" && nbf <= now + leeway)) return "nbf";
  return typeof exp === "number" && exp > now - leeway ? null : "exp";
}
