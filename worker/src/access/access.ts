import type { GatewayConfig } from "../config.ts";
import { hex, sha256 } from "../digest.ts";
import type { GatewayEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { presented, Refused } from "./credential.ts";
import { keyIdOf } from "./key-text.ts";
import { keyFault } from "./keys.ts";
import { type KeySource, KnownKeys } from "./known-keys.ts";
import { NOBODY, type Principal } from "./principal.ts";
import { SecretText } from "./secret-text.ts";
import { Strangers } from "./strangers.ts";
import { looksLikeToken, Tokens } from "./tokens.ts";

const ASSERTION = "cf-access-jwt-assertion";

interface StageKey {
  readonly text: string;
  readonly secret: SecretText;
  readonly digest: Uint8Array;
  readonly principal: Principal;
}

type Later = (work: Promise<unknown>) => void;

/** Tells who calls. The stage's own key costs no wait, any other credential a digest; both are held against what the isolate knows. */
export class Access {
  readonly #stage: string;
  readonly #keys: KnownKeys | null;
  readonly #tokens: Tokens;
  readonly #assertions: Tokens;
  readonly #now: () => number;
  readonly #strangers: Strangers;
  #stageKey: StageKey | null = null;

  constructor({ stage, auth }: Pick<GatewayConfig, "stage" | "auth">, now: () => number) {
    this.#stage = stage;
    this.#now = now;
    this.#strangers = new Strangers(now);
    this.#keys = auth.keys ? new KnownKeys(now) : null;
    this.#tokens = Tokens.ofIssuers(auth.issuers, now);
    this.#assertions = Tokens.ofAccess(auth.access, now);
  }

  /**
   * The caller of a request with these headers. A key or token that was sent decides alone; only without one does an
   * assertion of Cloudflare Access. `address`: where it comes from. Throws `Refused`, or a 5xx when the gateway can't tell.
   */
  async identify(headers: Headers, env: GatewayEnv, later: Later, address: () => string): Promise<Principal> {
    // Failing closed: a stage that lost its secret serves no one.
    const stageKey = this.#known(env) ?? (await this.#ownKey(env));
    const text = presented(headers);
    if (text === "") return this.#byAssertion(headers.get(ASSERTION), later);
    if (stageKey.secret.equals(text)) return stageKey.principal;
    const digest = await sha256(text);
    if (same(digest, stageKey.digest)) return stageKey.principal;
    const id = this.#keys === null ? null : keyIdOf(text);
    if (id !== null) return this.#byKey(id, digest, env, later, address);
    if (this.#tokens.any && looksLikeToken(text)) return this.#tokens.verify(text, digest, later);
    throw new Refused("wrong_key");
  }

  #known(env: GatewayEnv): StageKey | null {
    return this.#stageKey !== null && this.#stageKey.text === env.API_KEY?.trim() ? this.#stageKey : null;
  }

  async #ownKey(env: GatewayEnv): Promise<StageKey> {
    const text = env.API_KEY?.trim();
    if (!text) throw new ApiError(500, "misconfigured", "The gateway has no API key to check against.");
    const digest = await sha256(text);
    const tenant = hex(digest).slice(0, 32);
    const principal: Principal = { ...NOBODY, tenant, via: "stage-key", keyId: tenant.slice(0, 12) };
    const own = { text, secret: new SecretText(text), digest, principal };
    this.#stageKey = own;
    return own;
  }

  async #byKey(
    id: string,
    digest: Uint8Array,
    env: GatewayEnv,
    later: Later,
    address: () => string,
  ): Promise<Principal> {
    const keys = this.#keys as KnownKeys;
    const heardOf = keys.hasHeardOf(id);
    if (!heardOf) this.#refuseStranger(address());
    const key = await keys.find(id, () => keyRingOf(env, this.#stage), later);
    if (key === null) {
      if (!heardOf) this.#strangers.note(address());
      throw new Refused("key_unknown");
    }
    let found = key;
    let fault = keyFault(found, digest, this.#now(), same);
    if (fault === "key_secret") {
      found = (await keys.findAnew(id, () => keyRingOf(env, this.#stage))) ?? found;
      fault = keyFault(found, digest, this.#now(), same);
    }
    if (fault !== null) throw new Refused(fault);
    return found.principal;
  }

  #refuseStranger(address: string): void {
    const wait = this.#strangers.waitFor(address);
    if (wait === 0) return;
    const message = "Too many keys that don't exist came from this address.";
    throw new ApiError(429, "rate_limit_exceeded", message, { headers: { "retry-after": String(wait) } });
  }

  async #byAssertion(assertion: string | null, later: Later): Promise<Principal> {
    if (assertion === null || !this.#assertions.any) throw new Refused("no_credential");
    if (!looksLikeToken(assertion)) throw new Refused("token_malformed");
    return this.#assertions.verify(assertion, await sha256(assertion), later);
  }
}

function keyRingOf(env: GatewayEnv, stage: string): KeySource {
  // The stub's own types wrap every result for RPC; what arrives is the plain value.
  return env.KEYS.getByName(stage) as unknown as KeySource;
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return crypto.subtle.timingSafeEqual(a, b);
}
