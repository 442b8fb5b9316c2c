import { env } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { Stage } from "../../test/support/stage.ts";
import type { GatewayEnv } from "../env.ts";
import { purge } from "./purge.ts";

const { CACHE } = env as unknown as GatewayEnv;
const KEYS = ["exact/r-1/chat/a", "exact/r-1/chat2/b", "exact/r-2/chat/c", "semantic/r-1/chat/d", "other/r-1/chat/e"];

const left = async () => (await CACHE.list()).keys.map(({ name }) => name);

describe("purge", () => {
  beforeEach(async () => {
    await Promise.all((await left()).map((name) => CACHE.delete(name)));
    await Promise.all(KEYS.map((key) => CACHE.put(key, "x")));
  });

  it.each([
    [{ release: "r-1" }, 3, ["exact/r-2/chat/c", "other/r-1/chat/e"]],
    [{ model: "chat" }, 3, ["exact/r-1/chat2/b", "other/r-1/chat/e"]],
    [{ model: "chat", release: "r-1" }, 2, ["exact/r-1/chat2/b", "exact/r-2/chat/c", "other/r-1/chat/e"]],
    [{}, 4, ["other/r-1/chat/e"]],
    [{ release: "r-" }, 0, KEYS],
    [{ model: "" }, 0, KEYS],
  ])("deletes what %j names, and nothing else", async (what, deleted, rest) => {
    expect(await purge(env as unknown as GatewayEnv, what)).toEqual({ deleted, complete: true });
    expect((await left()).sort()).toEqual([...rest].sort());
  });

  it("says when there is more than one request may delete, and goes on the next time", async () => {
    await Promise.all(Array.from({ length: 30 }, (_, at) => CACHE.put(`exact/r-1/chat/${at}`, "x")));
    const told = [];
    do told.push(await purge({ CACHE }, { model: "chat" }, 12));
    while (told.at(-1)?.complete === false && told.length < 9);
    expect(told.length).toBeGreaterThan(2);
    expect(told.reduce((sum, { deleted }) => sum + deleted, 0)).toBe(33);
    expect(await left()).toEqual(["exact/r-1/chat2/b", "other/r-1/chat/e"]);
  });

  it("reaches every page of a full namespace", async () => {
    await Promise.all(Array.from({ length: 1_100 }, (_, at) => CACHE.put(`exact/r-3/chat2/${at}`, "x")));
    await CACHE.put("exact/r-4/chat/z", "x");
    expect(await purge({ CACHE }, { model: "chat" })).toEqual({ deleted: 4, complete: true });
  });

  it("takes kept answers away from other isolates", async () => {
    const body = { messages: [{ role: "user", content: "purge me" }], temperature: 0 };
    const cacheOf = async (stage: Stage) => (await stage.chat(body)).headers.get("x-sluiceway-cache");
    expect(await cacheOf(new Stage())).toBe("miss");
    expect(await cacheOf(new Stage())).toBe("hit");
    expect((await purge({ CACHE }, { model: "chat" })).deleted).toBeGreaterThan(0);
    expect(await cacheOf(new Stage())).toBe("miss");
  });
});
