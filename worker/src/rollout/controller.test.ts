import { env, evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { Stage } from "../../test/support/stage.ts";
import type { GatewayEnv } from "../env.ts";
import type { RolloutController } from "./controller.ts";

const namespace = (env as unknown as GatewayEnv).ROLLOUTS;
const SPEC = {
  chat: [
    [1, 90],
    [2, 10],
  ],
} as const;

/** Live weights move away from what was declared, as a rollout moves them. */
async function moveWeights(
  stub: DurableObjectStub<RolloutController>,
  digest: string,
  weights: unknown,
): Promise<void> {
  await runInDurableObject(stub, (_, state) => {
    state.storage.sql.exec("UPDATE specs SET weights = ? WHERE digest = ?", JSON.stringify(weights), digest);
  });
}

describe("RolloutController", () => {
  it("seeds the live weights from a spec that it sees for the first time", async () => {
    const stub = namespace.getByName("seeds");
    expect(await stub.table("d1", SPEC)).toEqual({ weights: SPEC });
  });

  it("owns the weights from then on, also over an eviction", async () => {
    const stub = namespace.getByName("owns");
    await stub.table("d1", SPEC);
    await moveWeights(stub, "d1", {
      chat: [
        [1, 0],
        [2, 100],
      ],
    });
    await evictDurableObject(stub);
    expect(await stub.table("d1", SPEC)).toEqual({
      weights: {
        chat: [
          [1, 0],
          [2, 100],
        ],
      },
    });
  });

  it("keeps the specs of two worker versions apart", async () => {
    const stub = namespace.getByName("apart");
    await stub.table("d1", SPEC);
    await moveWeights(stub, "d1", {
      chat: [
        [1, 20],
        [2, 80],
      ],
    });
    expect(await stub.table("d2", { chat: [[1, 100]] })).toEqual({ weights: { chat: [[1, 100]] } });
    expect(await stub.table("d1", SPEC)).toEqual({
      weights: {
        chat: [
          [1, 20],
          [2, 80],
        ],
      },
    });
  });

  it("remembers a bounded number of specs", async () => {
    const stub = namespace.getByName("bounded");
    for (let i = 0; i < 105; i++) await stub.table(`d${i}`, SPEC);
    const count = await runInDurableObject(stub, (_, state) =>
      state.storage.sql.exec("SELECT digest FROM specs").toArray(),
    );
    expect(count).toHaveLength(100);
  });

  it("decides where the gateway's requests go", async () => {
    const stage = new Stage({ stage: "decides" });
    await stage.chat({ model: "chat", user: "a" });
    const stub = namespace.getByName("decides");
    const digest = await runInDurableObject(
      stub,
      (_, { storage }) => storage.sql.exec("SELECT digest FROM specs").one().digest,
    );
    await moveWeights(stub, String(digest), {
      chat: [
        [1, 0],
        [2, 100],
      ],
    });
    stage.ahead = 2_500;
    await stage.chat({ model: "chat", user: "a" });
    const response = await stage.chat({ model: "chat", user: "a" });
    expect(response.headers.get("x-sluiceway-model")).toBe("chat@2");
    expect(response.headers.get("x-sluiceway-variant")).toBe("candidate");
  });
});
