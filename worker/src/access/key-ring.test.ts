import { env, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { GatewayEnv } from "../env.ts";
import type { KeySpec } from "./keys.ts";

const SPEC: KeySpec = {
  ...{ name: "app", owner: "ann", team: "search", models: ["chat"], requestsPerMinute: 60, tokensPerMinute: null },
  ...{ budgets: [{ scope: "key", period: "day", usd: 5, fall_to: null }], expiresAt: 90_000 },
};
const ringOf = (name: string) => (env as unknown as GatewayEnv).KEYS.getByName(name);
const SHA = "ab".repeat(32);

describe("KeyRing", () => {
  it("knows a key again after an eviction, by all that it was made with", async () => {
    const ring = ringOf("evicted");
    await ring.create("id-1", SPEC, SHA, 1_000);
    await evictDurableObject(ring);
    expect(await ring.lookup("id-1")).toEqual({
      ...SPEC,
      ...{ id: "id-1", createdAt: 1_000, rotatedAt: null, revokedAt: null, secrets: [{ sha256: SHA, until: null }] },
    });
    expect(await ring.lookup("id-2")).toBeNull();
  });

  it("keeps digests, and nothing from which a key could be made", async () => {
    const ring = ringOf("digests");
    await ring.create("id-1", SPEC, SHA, 1_000);
    const rows = await runInDurableObject(ring, (_, { storage }) => storage.sql.exec("SELECT * FROM keys").toArray());
    expect(JSON.stringify(rows)).toContain(SHA);
    expect(JSON.stringify(rows)).not.toContain("sk-slw-");
  });

  it("gives an active key's name to no other, and a closed one's to the next", async () => {
    const ring = ringOf("names");
    await ring.create("id-1", SPEC, SHA, 1_000);
    expect(await ring.create("id-2", SPEC, SHA, 2_000)).toEqual({ fault: "exists", id: "id-1" });
    await ring.revoke("id-1", 3_000);
    expect(await ring.create("id-3", SPEC, SHA, 4_000)).toHaveProperty("key");
    // The third one ends at 90 s.
    expect(await ring.create("id-4", SPEC, SHA, 90_000)).toHaveProperty("key");
  });

  it("rotates what is active alone, and revokes what there is", async () => {
    const ring = ringOf("changes");
    await ring.create("id-1", SPEC, SHA, 1_000);
    expect(await ring.rotate("id-1", "cd".repeat(32), 500, 2_000)).toMatchObject({
      key: { rotatedAt: 2_000, secrets: [{ until: null }, { sha256: SHA, until: 2_500 }] },
    });
    expect(await ring.rotate("nobody", SHA, 500, 2_000)).toEqual({ fault: "unknown", id: "nobody" });
    expect(await ring.revoke("nobody", 2_000)).toEqual({ fault: "unknown", id: "nobody" });
    expect(await ring.revoke("id-1", 3_000)).toMatchObject({ key: { revokedAt: 3_000 } });
    expect(await ring.revoke("id-1", 4_000)).toMatchObject({ key: { revokedAt: 3_000 } });
    expect(await ring.rotate("id-1", SHA, 500, 4_000)).toEqual({ fault: "closed", id: "id-1" });
  });

  it("lists page by page, in the order in which keys were made", async () => {
    const ring = ringOf("pages");
    for (const at of [3, 1, 2]) await ring.create(`id-${at}`, { ...SPEC, name: `app-${at}` }, SHA, at);
    const first = await ring.list(0, 2);
    expect(first.keys.map(({ id }) => id)).toEqual(["id-3", "id-1"]);
    const second = await ring.list(first.next as number, 2);
    expect([second.keys.map(({ id }) => id), second.next]).toEqual([["id-2"], null]);
  });
});
