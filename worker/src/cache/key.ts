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

/** What is kept in KV: whole answers, and lists of prompts that were nearly the same. */
export type Kind = "exact" | "semantic";
export const KINDS: readonly Kind[] = ["exact", "semantic"];

/** KV counts a key's bytes (at most 512), and names can be long. */
const LONGEST_SEGMENT = 80;

/**
 * KV key of an answer: a digest of all that shaped it. Release and model stand in front of it in plain words, so that
 * a purge finds theirs by prefix.
 */
export function cacheKey(identity: CacheIdentity): Promise<string> {
  return keyOf("exact", identity.release, identity.model, identity);
}

export async function keyOf(kind: Kind, release: string, model: string, identity: object): Promise<string> {
  return `${prefixOf(kind, release)}${segment(model)}/${await sha256Hex(canonicalJson(identity))}`;
}

/** How the keys of a release begin. */
export function prefixOf(kind: Kind, release: string): string {
  return `${kind}/${segment(release)}/`;
}

/** Whether a key is one of this model's, whatever the release. */
export function isOfModel(key: string, model: string): boolean {
  return key.split("/")[2] === segment(model);
}

function segment(name: string): string {
  return encodeURIComponent(name.toWellFormed()).slice(0, LONGEST_SEGMENT);
}
