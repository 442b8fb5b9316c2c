import type { JWTPayload } from "jose";
import { sha256Hex } from "../digest.ts";
import { Refused } from "./credential.ts";
import { NOBODY, type Principal } from "./principal.ts";

const MOST_CHARACTERS = 256;
const MOST_MODELS = 200;

/** Which claims name the caller. */
export interface ClaimNames {
  readonly issuer: string;
  readonly via: "jwt" | "access";
  readonly subject: readonly string[];
  readonly team: string | null;
  readonly models: string | null;
}

/**
 * The caller that a verified token names. A stage that says which claim lists the models means it: without the claim
 * the caller may use none.
 */
export async function principalOf(claims: JWTPayload, names: ClaimNames): Promise<Principal> {
  const subject = names.subject.map((name) => textOf(claimOf(claims, name))).find((text) => text !== null) ?? null;
  if (subject === null) throw new Refused("token_subject");
  const tenant = (await sha256Hex(`${names.issuer}\n${subject}`)).slice(0, 32);
  const name = textOf(claims.email) ?? subject;
  return {
    ...NOBODY,
    ...{ tenant, via: names.via, keyId: `${names.via}-${tenant.slice(0, 16)}`, name, owner: name },
    team: names.team === null ? null : textOf(claimOf(claims, names.team)),
    models: names.models === null ? null : listOf(claimOf(claims, names.models)),
  };
}

/** A claim by its whole name, which may be a URL, else by its path: `realm_access.models`. */
function claimOf(claims: JWTPayload, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const step of name.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Record<string, unknown>)[step];
  }
  return value;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" && value.length <= MOST_CHARACTERS ? value : null;
}

/** A list of names, or a text of them with blanks or commas between, as a scope is written. */
function listOf(value: unknown): readonly string[] {
  const names = typeof value === "string" ? value.split(/[\s,]+/) : Array.isArray(value) ? value : [];
  return names.filter((name): name is string => textOf(name) !== null).slice(0, MOST_MODELS);
}
