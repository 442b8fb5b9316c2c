import { canonicalJson } from "../canonical.ts";
import { sha256Hex } from "../digest.ts";

/** All that decides whether one request may have another's answer. */
export interface CacheIdentity {
  /** Fingerprint of the API key: a tenant never sees, nor probes, another's answers. */
  readonly tenant: string;
  readonly release: string;
  readonly model: string;
  readonly version: number;
  /** The client's body without the fields that only choose the wrapping; unknown fields included. */
  readonly body: Record<string, unknown>;
}

/** KV key of an answer: a digest, since KV counts a key's bytes (at most 512) and names can be long. */
export async function cacheKey(identity: CacheIdentity): Promise<string> {
  return `exact/${identity.release}/${await sha256Hex(canonicalJson(identity))}`;
}
