import { env } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { errorOf, Stage } from "../../../test/support/stage.ts";
import type { GatewayEnv } from "../../env.ts";

const ADMIN = "adm-test-0123456789-0123456789";
const { CACHE } = env as unknown as GatewayEnv;

const stageOf = (bindings: Partial<GatewayEnv> = {}) => new Stage({}, { ADMIN_KEY: ADMIN, ...bindings });

function purge(stage: Stage, body: unknown, key = ADMIN): Promise<Response> {
  const headers = { authorization: `Bearer ${key}` };
  return stage.ask({ method: "POST", path: "/_sluiceway/cache/purge", body, headers });
}

const question = (model: string) => ({ model, messages: [{ role: "user", content: "keep me" }], temperature: 0 });
const cacheOf = async (stage: Stage, model: string) =>
  (await stage.chat(question(model))).headers.get("x-sluiceway-cache");

describe("POST /_sluiceway/cache/purge", () => {
  it("deletes by model, by release, and everything; this isolate forgets at once", async () => {
    // Another file's answers may still be on their way into the store that all files share.
    await purge(stageOf(), { all: true });
    const stage = stageOf();
    for (const body of [
      { model: "chat" },
      { release: "r-0123456789ab" },
      { release: "r-0123456789ab", model: "chat" },
    ]) {
      expect(await cacheOf(stage, "chat@1")).toBe("miss");
      expect(await cacheOf(stage, "chat@1")).toBe("hit");
      const purged = await purge(stage, body);
      expect([purged.status, await purged.json()]).toEqual([200, { deleted: 1, complete: true }]);
    }
    await CACHE.put("exact/r-other/chat/x", "{}");
    await cacheOf(stage, "chat@2");
    expect(await (await purge(stage, { all: true })).json()).toEqual({ deleted: 2, complete: true });
    expect(await cacheOf(stage, "chat@2")).toBe("miss");
    expect(stage.logs.filter(({ event }) => event === "purge")).toHaveLength(4);
  });

  it("leaves other models and releases alone", async () => {
    const stage = stageOf();
    await cacheOf(stage, "chat@1");
    for (const body of [{ model: "intent" }, { release: "r-0123456789a" }, { model: "chat", release: "r-none" }]) {
      expect(await (await purge(stage, body)).json()).toEqual({ deleted: 0, complete: true });
    }
    expect(await cacheOf(stage, "chat@1")).toBe("hit");
  });

  it("says that it serves no such model, and which it does, rather than that nothing was deleted", async () => {
    const stage = stageOf();
    await cacheOf(stage, "chat@1");
    for (const model of ["cha", "nope", "chat@1", "__proto__"]) {
      const response = await purge(stage, { model });
      const error = await errorOf(response);
      expect([response.status, error.code, error.param]).toEqual([404, "model_not_found", "model"]);
      expect(error.message).toContain("chat, intent");
    }
    expect(await cacheOf(stage, "chat@1")).toBe("hit");
  });

  it("takes a model that only an older release served", async () => {
    const stage = stageOf();
    await CACHE.put("exact/r-older/gone/x", "{}");
    const purged = await purge(stage, { model: "gone", release: "r-older" });
    expect([purged.status, await purged.json()]).toEqual([200, { deleted: 1, complete: true }]);
  });

  it.each([
    ["nothing named", {}, null],
    ["all and a model", { all: true, model: "chat" }, null],
    ["all: false", { all: false }, "all"],
    ["a number", { model: 5 }, "model"],
    ["an empty name", { release: "" }, "release"],
    ["an unknown field", { tenant: "t" }, "tenant"],
    ["a list", [], null],
  ])("refuses %s", async (_, body, param) => {
    const response = await purge(stageOf(), body);
    expect(response.status).toBe(400);
    expect((await errorOf(response)).param).toBe(param);
  });

  it("is for the owner alone", async () => {
    expect((await purge(stageOf(), { all: true }, "test-key")).status).toBe(401);
    expect((await purge(stageOf({ ADMIN_KEY: "" }), { all: true })).status).toBe(404);
  });

  it("says so when the cache can't be reached", async () => {
    const list = () => Promise.reject(new Error("KV LIST failed: 429"));
    const response = await purge(stageOf({ CACHE: { list } as unknown as KVNamespace }), { all: true });
    expect([response.status, (await errorOf(response)).code]).toEqual([503, "cache_unavailable"]);
  });
});
