import type { JWTPayload, JWTVerifyOptions, ProtectedHeaderParameters } from "jose";
import { decodeProtectedHeader } from "jose/decode/protected_header";
import { JOSEError, JWTClaimValidationFailed } from "jose/errors";
import { decodeJwt } from "jose/jwt/decode";
import { jwtVerify } from "jose/jwt/verify";
import { put } from "../bounded-map.ts";
import type { GatewayConfig } from "../config.ts";
import type { Issuer } from "../config-policies.ts";
import { hex } from "../digest.ts";
import { type ClaimNames, principalOf } from "./claims.ts";
import { type RefusalReason, Refused } from "./credential.ts";
import { KeySet } from "./jwks.ts";
import type { Principal } from "./principal.ts";

/** Three parts of base64url; the last may be empty, so that an unsigned token is refused as what it is. */
const SHAPE = /^[\w-]+\.[\w-]+\.[\w-]*$/;
const MOST_CHARACTERS = 16_384;
/** Longest that a token is taken as verified without another look at its signature, and how many are. */
const VERIFIED_MS = 60_000;
const MOST_VERIFIED = 2_000;
const ACCESS_LEEWAY = 60;

/** One issuer whose tokens are taken, and what is asked of them. */
interface Trusted {
  readonly issuer: string;
  readonly audience: readonly string[];
  readonly algorithms: readonly string[];
  /** Seconds. */
  readonly leeway: number;
  readonly names: ClaimNames;
  readonly keys: KeySet;
}

interface Verified {
  readonly principal: Principal;
  readonly until: number;
}

/** Checks the tokens of a list of issuers. */
export class Tokens {
  readonly #trusted: readonly Trusted[];
  readonly #now: () => number;
  readonly #verified = new Map<string, Verified>();

  private constructor(trusted: readonly Trusted[], now: () => number) {
    this.#trusted = trusted;
    this.#now = now;
  }

  static ofIssuers(issuers: readonly Issuer[], now: () => number): Tokens {
    return new Tokens(
      issuers.map((issuer) => ({
        ...issuer,
        names: {
          ...{ issuer: issuer.issuer, via: "jwt", subject: [issuer.subject_claim] },
          ...{ team: issuer.team_claim, models: issuer.models_claim },
        },
        keys: new KeySet(issuer.jwks_uri, now),
      })),
      now,
    );
  }

  /** Cloudflare Access: a person's assertion has `sub`, a service token's an empty one and a `common_name`. */
  static ofAccess(access: GatewayConfig["auth"]["access"], now: () => number): Tokens {
    if (access === null) return new Tokens([], now);
    const issuer = teamIssuer(access.team_domain);
    return new Tokens(
      [
        {
          ...{ issuer, audience: access.audience, algorithms: ["RS256"], leeway: ACCESS_LEEWAY },
          names: { issuer, via: "access", subject: ["sub", "common_name"], team: null, models: null },
          keys: new KeySet(`${issuer}/cdn-cgi/access/certs`, now),
        },
      ],
      now,
    );
  }

  get any(): boolean {
    return this.#trusted.length > 0;
  }

  /** The caller that the token names; `digest` is its sha256. Throws `Refused`, or the 503 when no keys are to be had. */
  async verify(token: string, digest: Uint8Array, later: (work: Promise<unknown>) => void): Promise<Principal> {
    const name = hex(digest);
    const kept = this.#verified.get(name);
    if (kept !== undefined && this.#now() < kept.until) return kept.principal;
    const { header, claims } = peek(token);
    let fault: RefusalReason = "token_issuer";
    for (const trusted of this.#trusted) {
      if (claims.iss !== trusted.issuer) continue;
      try {
        return await this.#check(token, header, trusted, name, later);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        fault = error.reason;
      }
    }
    throw new Refused(fault);
  }

  async #check(
    token: string,
    header: ProtectedHeaderParameters,
    trusted: Trusted,
    name: string,
    later: (work: Promise<unknown>) => void,
  ): Promise<Principal> {
    const { alg, kid } = header;
    // The list decides, never the token.
    if (alg === undefined || !trusted.algorithms.includes(alg)) throw new Refused("token_algorithm");
    const key = await trusted.keys.find(kid, alg, later);
    const now = this.#now();
    const claims = await verified(token, key, {
      ...{ issuer: trusted.issuer, audience: [...trusted.audience], algorithms: [alg], requiredClaims: ["exp"] },
      ...{ clockTolerance: trusted.leeway, currentDate: new Date(now) },
    });
    const principal = await principalOf(claims, trusted.names);
    const until = Math.min((Number(claims.exp) + trusted.leeway) * 1000, now + VERIFIED_MS);
    put(this.#verified, name, { principal, until }, MOST_VERIFIED);
    return principal;
  }
}

/** Whether a text may be a token: what else a caller sends as a key is not worth parsing. */
export function looksLikeToken(text: string): boolean {
  return text.length <= MOST_CHARACTERS && SHAPE.test(text);
}

/** Header and claims as the token states them: believed only to find the issuer whose keys decide. */
function peek(token: string): { header: ProtectedHeaderParameters; claims: JWTPayload } {
  try {
    return { header: decodeProtectedHeader(token), claims: decodeJwt(token) };
  } catch {
    throw new Refused("token_malformed");
  }
}

async function verified(token: string, key: CryptoKey, options: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, key, options)).payload;
  } catch (error) {
    throw new Refused(reasonOf(error));
  }
}

function reasonOf(error: unknown): RefusalReason {
  if (!(error instanceof JOSEError)) return "token_malformed";
  if (error.code === "ERR_JWT_EXPIRED") return "token_exp";
  if (error instanceof JWTClaimValidationFailed) return `token_${error.claim}`;
  return error.code === "ERR_JWS_SIGNATURE_VERIFICATION_FAILED" ? "token_signature" : "token_malformed";
}

/** `acme` or `acme.cloudflareaccess.com`, with or without `https://` -> the issuer, as its assertions have it. */
function teamIssuer(teamDomain: string): string {
  const host = teamDomain.replace(/^https:\/\//, "").replace(/\/+$/, "");
  return `https://${host.includes(".") ? host : `${host}.cloudflareaccess.com`}`;
}
