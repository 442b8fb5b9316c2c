import { describe, expect, it } from "vitest";
import type { ApiError } from "../errors.ts";
import { type KeyRecord, type KeySpec, makeKey, revokeKey } from "./keys.ts";
import { KnownKeys } from "./known-keys.ts";

const SPEC: KeySpec = {
  ...{ name: "app", owner: null, team: null, models: null, requestsPerMinute: null, tokensPerMinute: null },
  ...{ budgets: [], expiresAt: null },
};

/** A ring, a clock, and one isolate that asks it. */
class Scene {
  now = 1_000_000;
  asked: string[] = [];
  ring = new Map<string, KeyRecord>();
  down = false;
  readonly keys = new KnownKeys(() => this.now);
  readonly #beside: Promise<unknown>[] = [];

  add(id: string): void {
    this.ring.set(id, makeKey(id, SPEC, "ab".repeat(32), this.now));
  }

  find(id: string) {
    const lookup = async () => {
      this.asked.push(id);
      if (this.down) throw new Error("object reset");
      return this.ring.get(id) ?? null;
    };
    return this.keys.find(
      id,
      () => ({ lookup }),
      (work) => this.#beside.push(work),
    );
  }

  async settled(): Promise<void> {
    await Promise.all(this.#beside);
  }
}

describe("an isolate's knowledge of keys", () => {
  it("asks the ring for a hot key once a second, beside the requests", async () => {
    const scene = new Scene();
    scene.add("a");
    for (let request = 0; request < 1_000; request++) {
      expect((await scene.find("a"))?.principal.keyId).toBe("a");
      scene.now += 10;
      await scene.settled();
    }
    // Ten seconds of a hundred requests each.
    expect(scene.asked.length).toBeLessThanOrEqual(10);
  });

  it("sees a revocation within 2 s, whenever it falls", async () => {
    for (let at = 0; at < 2_000; at += 50) {
      const scene = new Scene();
      scene.add("a");
      await scene.find("a");
      scene.now += at;
      await scene.find("a");
      scene.ring.set("a", revokeKey(scene.ring.get("a") as KeyRecord, scene.now));
      scene.now += 2_000;
      expect((await scene.find("a"))?.revokedAt).not.toBeNull();
    }
  });

  it("counts an answer's age from its question, however slow the ring", async () => {
    const scene = new Scene();
    scene.add("a");
    const { promise, resolve } = Promise.withResolvers<KeyRecord | null>();
    const slow = scene.keys.find(
      "a",
      () => ({ lookup: () => promise }),
      () => undefined,
    );
    scene.now += 1_400;
    resolve(scene.ring.get("a") ?? null);
    await slow;
    scene.now += 700;
    await scene.find("a");
    expect(scene.asked).toEqual(["a"]);
  });

  it("remembers for 2 s that there is no such key, and finds one that was made since", async () => {
    const scene = new Scene();
    expect(await scene.find("a")).toBeNull();
    scene.add("a");
    scene.now += 1_999;
    expect(await scene.find("a")).toBeNull();
    scene.now += 1;
    expect(await scene.find("a")).not.toBeNull();
    expect(scene.asked).toHaveLength(2);
  });

  it("keeps a known key through a flood of made-up ones", async () => {
    const scene = new Scene();
    scene.add("a");
    await scene.find("a");
    for (let at = 0; at < 7_000; at++) await scene.find(`x${at}`);
    scene.asked = [];
    await scene.find("a");
    expect(scene.asked).toEqual([]);
    // The oldest made-up one was forgotten, the newest not.
    await scene.find("x6999");
    await scene.find("x0");
    expect(scene.asked).toEqual(["x0"]);
  });

  it("goes by what it last knew for 60 s while the ring is down, then answers 503", async () => {
    const scene = new Scene();
    scene.add("a");
    await scene.find("a");
    scene.down = true;
    scene.asked = [];
    for (let second = 0; second < 59; second++) {
      scene.now += 1_000;
      for (let request = 0; request < 10; request++) expect(await scene.find("a")).not.toBeNull();
      await scene.settled();
    }
    // A ring that is down is not asked by every request.
    expect(scene.asked.length).toBeLessThan(70);
    scene.now += 1_000;
    await expect(scene.find("a")).rejects.toMatchObject({ status: 503, code: "access_unavailable" });
    scene.down = false;
    expect(await scene.find("a")).not.toBeNull();
  });

  it("answers 503 for a key that it never saw while the ring is down", async () => {
    const scene = new Scene();
    scene.down = true;
    const fault = (await scene.find("a").catch((error) => error)) as ApiError;
    expect([fault.status, fault.headers["retry-after"]]).toEqual([503, "2"]);
  });

  it("doesn't wait for a ring that never answers", async () => {
    const scene = new Scene();
    // One that waited would be ended by the test's own timeout.
    const silent = { lookup: () => new Promise<never>(() => undefined) };
    await expect(
      scene.keys.find(
        "a",
        () => silent,
        () => undefined,
      ),
    ).rejects.toMatchObject({ status: 503 });
  });

  it("asks out of turn for a key that it knows, and no more than twice a second", async () => {
    const scene = new Scene();
    scene.add("a");
    await scene.find("a");
    const anew = () =>
      scene.keys.findAnew("a", () => ({
        lookup: async (id) => {
          scene.asked.push(id);
          return scene.ring.get(id) ?? null;
        },
      }));
    expect(await anew()).not.toBeNull();
    for (let tries = 0; tries < 50; tries++) expect(await anew()).toBeNull();
    expect(scene.asked).toEqual(["a", "a"]);
    scene.now += 500;
    expect(await anew()).not.toBeNull();
    expect(await scene.keys.findAnew("never seen", () => ({ lookup: async () => null }))).toBeNull();
    expect(scene.asked).toHaveLength(3);
  });

  it("lets no slow answer replace a newer one", async () => {
    const scene = new Scene();
    scene.add("a");
    const open = scene.ring.get("a") as KeyRecord;
    const { promise, resolve } = Promise.withResolvers<KeyRecord | null>();
    const slow = scene.keys.find(
      "a",
      () => ({ lookup: () => promise }),
      () => undefined,
    );
    scene.now += 500;
    scene.ring.set("a", revokeKey(open, scene.now));
    expect((await scene.find("a"))?.revokedAt).not.toBeNull();
    resolve(open);
    expect((await slow)?.revokedAt).not.toBeNull();
    expect((await scene.find("a"))?.revokedAt).not.toBeNull();
  });
});
