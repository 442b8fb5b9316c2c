import { describe, expect, it } from "vitest";
import { keyIdOf, newKey } from "./key-text.ts";
import { type KeyRecord, type KeySpec, keyFault, makeKey, revokeKey, rotateKey, stateOf } from "./keys.ts";

const SPEC: KeySpec = {
  ...{ name: "app", owner: null, team: null, models: null, requestsPerMinute: null, tokensPerMinute: null },
  ...{ budgets: [], expiresAt: null },
};
const same = (a: Uint8Array, b: Uint8Array) => crypto.subtle.timingSafeEqual(a, b);
const digest = (byte: number) => new Uint8Array(32).fill(byte);
const hexOf = (byte: number) => byte.toString(16).padStart(2, "0").repeat(32);

function fault(key: KeyRecord, byte: number, now: number) {
  const secrets = key.secrets.map(({ sha256, until }) => ({
    digest: digest(Number.parseInt(sha256.slice(0, 2), 16)),
    until,
  }));
  return keyFault({ ...key, secrets }, digest(byte), now, same);
}

describe("a key's text", () => {
  it("has the id in clear and 256 random bits behind it", () => {
    const keys = Array.from({ length: 200 }, () => newKey());
    for (const { id, text } of keys) {
      expect(text).toMatch(/^sk-slw-[0-9a-z]{12}-[A-Za-z0-9_-]{43}$/);
      expect(keyIdOf(text)).toBe(id);
    }
    expect(new Set(keys.map(({ id }) => id)).size).toBe(200);
    expect(new Set(keys.map(({ text }) => text.slice(-43))).size).toBe(200);
  });

  it("keeps its id when the secret is new", () => {
    const first = newKey();
    const second = newKey(first.id);
    expect(second.id).toBe(first.id);
    expect(second.text).not.toBe(first.text);
  });

  it.each([
    "",
    "sk-slw-",
    "test-key",
    `${newKey().text}x`,
    newKey().text.slice(0, -1),
    ` ${newKey().text}`,
    newKey().text.toUpperCase(),
    `sk-slw-'; DROP TABL-${"a".repeat(43)}`,
  ])("%j is none", (text) => {
    expect(keyIdOf(text)).toBeNull();
  });
});

describe("a key", () => {
  const key = makeKey("k1", SPEC, hexOf(1), 1_000);

  it("opens for its own secret alone", () => {
    expect(fault(key, 1, 2_000)).toBeNull();
    expect(fault(key, 2, 2_000)).toBe("key_secret");
  });

  it("closes at its end, to the millisecond", () => {
    const ending = makeKey("k1", { ...SPEC, expiresAt: 5_000 }, hexOf(1), 1_000);
    expect(fault(ending, 1, 4_999)).toBeNull();
    expect(fault(ending, 1, 5_000)).toBe("key_expired");
    expect(stateOf(ending, 5_000)).toBe("expired");
  });

  it("stays revoked from the first time on, and tells so only to who has its secret", () => {
    const revoked = revokeKey(revokeKey(key, 3_000), 9_000);
    expect(revoked.revokedAt).toBe(3_000);
    expect(fault(revoked, 1, 3_000)).toBe("key_revoked");
    expect(fault(revoked, 2, 3_000)).toBe("key_secret");
  });

  it("keeps the old secret for the grace time after a rotation", () => {
    const rotated = rotateKey(key, hexOf(2), 10_000, 5_000);
    expect(fault(rotated, 2, 5_000)).toBeNull();
    expect(fault(rotated, 1, 14_999)).toBeNull();
    expect(fault(rotated, 1, 15_000)).toBe("key_expired");
    expect(fault(rotated, 2, 99_000)).toBeNull();
  });

  it("drops the old secret at once without a grace time", () => {
    expect(fault(rotateKey(key, hexOf(2), 0, 5_000), 1, 5_000)).toBe("key_secret");
  });

  it("gives no secret a longer life by a second rotation, and may give all a shorter one", () => {
    const twice = rotateKey(rotateKey(key, hexOf(2), 1_000, 5_000), hexOf(3), 60_000, 5_500);
    expect(fault(twice, 1, 5_999)).toBeNull();
    expect(fault(twice, 1, 6_000)).toBe("key_expired");
    expect(fault(twice, 2, 65_000)).toBeNull();
    const leaked = rotateKey(twice, hexOf(4), 0, 5_600);
    expect([1, 2, 3].map((byte) => fault(leaked, byte, 5_600))).toEqual(["key_secret", "key_secret", "key_secret"]);
  });

  it("has a bounded number of secrets however often it is rotated", () => {
    let often = key;
    for (let at = 2; at < 60; at++) often = rotateKey(often, hexOf(at), 1_000_000, 5_000);
    expect(often.secrets).toHaveLength(5);
    expect(fault(often, 59, 5_000)).toBeNull();
    expect(fault(often, 1, 5_000)).toBe("key_secret");
  });
});
