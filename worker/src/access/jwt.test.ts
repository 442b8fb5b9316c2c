import { exportJWK, generateKeyPair, type JWTPayload, jwtVerify, SignJWT } from "jose";
import { describe, expect, it } from "vitest";
import { random } from "../../test/support/random.ts";
import { importKey, isFor, isSigned, type JwkOf, readToken, wrongClaim } from "./jwt.ts";

const NOW = 1_800_000_000;
const WANTED = { issuer: "https://id.test", audience: ["gateway", "other"], leeway: 60, now: NOW };
const GOOD: JWTPayload = { iss: WANTED.issuer, aud: "gateway", sub: "ann", exp: NOW + 300 };
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];

async function pairOf(alg: string) {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, publicKey, jwk: (await exportJWK(publicKey)) as JwkOf };
}

async function taken(text: string, jwk: JwkOf, alg: string): Promise<boolean> {
  const key = await importKey(jwk, alg);
  if (key === null) return false;
  try {
    const token = readToken(text);
    return token.header.alg === alg && (await isSigned(token, key, alg)) && wrongClaim(token.claims, WANTED) === null;
  } catch {
    return false;
  }
}

/** What the library that signed them says of the same token. */
async function takenByJose(text: string, key: CryptoKey, alg: string): Promise<boolean> {
  const { issuer, audience, leeway } = WANTED;
  const options = { issuer, audience, clockTolerance: leeway, currentDate: new Date(NOW * 1000) };
  return jwtVerify(text, key, { ...options, algorithms: [alg], requiredClaims: ["exp"] }).then(
    () => true,
    () => false,
  );
}

describe("gw_18 a signed token", () => {
  it.each(["RS256", "PS384", "ES256", "ES384", "ES512", "EdDSA"])(
    "of %s is good as signed, and by no other key or algorithm",
    async (alg) => {
      const [pair, other] = await Promise.all([pairOf(alg), pairOf(alg)]);
      const text = await new SignJWT(GOOD).setProtectedHeader({ alg }).sign(pair.privateKey);
      expect(await taken(text, pair.jwk, alg)).toBe(true);
      expect(await taken(text, other.jwk, alg)).toBe(false);
      for (const wrong of ALGORITHMS) {
        if (wrong !== alg) expect(await taken(text, pair.jwk, wrong)).toBe(false);
      }
    },
  );

  it("is taken or refused as jose does, whatever was changed of it", async () => {
    const next = random(18);
    const pick = <T>(all: readonly T[]): T => all[Math.floor(next() * all.length)] as T;
    const alg = "ES256";
    const pair = await pairOf(alg);
    const times = [NOW - 61, NOW - 60, NOW - 59, NOW, NOW + 60, NOW + 61, NOW + 0.5, "soon", null, undefined, -1];
    const changes: Record<string, readonly unknown[]> = {
      iss: [WANTED.issuer, `${WANTED.issuer}/`, [WANTED.issuer], null, undefined],
      aud: ["gateway", "gate", ["x", "other"], ["x"], [], null, 7, { gateway: 1 }, undefined],
      exp: times,
      nbf: times,
      iat: times,
    };
    let good = 0;
    for (let round = 0; round < 400; round++) {
      const claims: Record<string, unknown> = { ...GOOD };
      for (const [name, values] of Object.entries(changes)) if (next() < 0.25) claims[name] = pick(values);
      const header = { alg, ...(next() < 0.1 && { typ: "at+jwt" }) };
      let text = await new SignJWT(JSON.parse(JSON.stringify(claims))).setProtectedHeader(header).sign(pair.privateKey);
      if (next() < 0.2) {
        const at = Math.floor(next() * text.length);
        text = text.slice(0, at) + pick(["A", "b", "-", "_", ".", ""]) + text.slice(at + 1);
      }
      const ours = await taken(text, pair.jwk, alg);
      expect([text, ours]).toEqual([text, await takenByJose(text, pair.publicKey, alg)]);
      good += Number(ours);
    }
    expect(good).toBeGreaterThan(50);
    expect(good).toBeLessThan(350);
  });

  it("that asks for more than we know is none", async () => {
    const { privateKey, jwk } = await pairOf("ES256");
    const sign = (header: object) =>
      new SignJWT(GOOD).setProtectedHeader({ alg: "ES256", ...header }).sign(privateKey, { crit: { exp: true } });
    expect(await taken(await sign({}), jwk, "ES256")).toBe(true);
    expect(await taken(await sign({ crit: ["exp"], exp: 1 }), jwk, "ES256")).toBe(false);
  });
});

describe("gw_18 a published key", () => {
  it("is for its own kind, curve, algorithm and use", async () => {
    const { jwk } = await pairOf("ES256");
    expect(isFor(jwk, "ES256")).toBe(true);
    expect(isFor({ ...jwk, use: "sig", key_ops: ["verify"], alg: "ES256" }, "ES256")).toBe(true);
    for (const alg of ["ES384", "RS256", "EdDSA", "HS256", "none", "__proto__", ""])
      expect(isFor(jwk, alg)).toBe(false);
    for (const change of [{ use: "enc" }, { key_ops: ["encrypt"] }, { alg: "ES384" }, { crv: "P-384" }]) {
      expect(isFor({ ...jwk, ...change }, "ES256")).toBe(false);
    }
  });

  it("opens nothing when it is private, short or broken", async () => {
    const { privateKey, jwk } = await pairOf("ES256");
    expect(await importKey((await exportJWK(privateKey)) as JwkOf, "ES256")).toBeNull();
    expect(await importKey({ ...jwk, x: "AA" }, "ES256")).toBeNull();
    expect(await importKey({ kty: "EC", crv: "P-256" }, "ES256")).toBeNull();
    const short = await crypto.subtle.generateKey(
      { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256", modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]) },
      true,
      ["sign", "verify"],
    );
    const { publicKey } = short as CryptoKeyPair;
    expect(await importKey((await crypto.subtle.exportKey("jwk", publicKey)) as JwkOf, "RS256")).toBeNull();
  });
});
