import { describe, expect, it } from "vitest";
import { type CacheIdentity, cacheKey } from "./key.ts";

const BASE: CacheIdentity = {
  tenant: "t1",
  release: "r-1",
  model: "chat",
  version: 1,
  body: { messages: [{ role: "user", content: "Hi" }], temperature: 0, max_tokens: 16 },
};
const withBody = (changes: object): CacheIdentity => ({ ...BASE, body: { ...BASE.body, ...changes } });

describe("cacheKey", () => {
  it.each([
    ["max_tokens", withBody({ max_tokens: 4000 })],
    ["tool_choice", withBody({ tool_choice: "auto" })],
    ["stop", withBody({ stop: ["x"] })],
    ["seed", withBody({ seed: 1 })],
    ["a field that we don't know", withBody({ x: 1 })],
    [
      "the order of messages",
      withBody({
        messages: [
          { role: "user", content: "Hi" },
          { role: "user", content: "Hi" },
        ],
      }),
    ],
    ["tenant", { ...BASE, tenant: "t2" }],
    ["release", { ...BASE, release: "r-2" }],
    ["model", { ...BASE, model: "chat2" }],
    ["version", { ...BASE, version: 2 }],
  ])("gw_05 differs by %s", async (_, other) => {
    expect(await cacheKey(other)).not.toBe(await cacheKey(BASE));
  });

  it("gw_05 is the same whatever the order of the keys", async () => {
    const { messages, ...rest } = BASE.body;
    expect(await cacheKey({ ...BASE, body: { ...rest, messages } })).toBe(await cacheKey(BASE));
    const turned = withBody({ messages: [{ content: "Hi", role: "user" }] });
    expect(await cacheKey(turned)).toBe(await cacheKey(BASE));
  });

  it("gw_06 stays far below KV's 512 bytes whatever the names", async () => {
    const key = await cacheKey({ ...BASE, tenant: "🦊".repeat(120), model: "m".repeat(300), release: "r".repeat(64) });
    expect(encodeURIComponent(key).length).toBeLessThan(256);
  });
});
