import { describe, expect, it } from "vitest";
import { Presence } from "./presence.ts";

/** A request's client, and what its request is held by. */
function attended(): { client: AbortController; held: Promise<unknown>[]; presence: Presence } {
  const client = new AbortController();
  const held: Promise<unknown>[] = [];
  const ctx = { waitUntil: (work: Promise<unknown>) => void held.push(work) } as unknown as ExecutionContext;
  return { client, held, presence: new Presence(client.signal, ctx) };
}

async function isSettled(work: Promise<unknown>): Promise<boolean> {
  return Promise.race([work.then(() => true), Promise.resolve(false).then(() => false)]);
}

describe("a request whose client stays", () => {
  it("is held by nothing", () => {
    const { held, presence } = attended();
    presence.over();
    expect(held).toEqual([]);
    expect(presence.left.aborted).toBe(false);
  });

  it("is not held by a client that leaves after the answer", () => {
    const { client, held, presence } = attended();
    presence.over();
    client.abort("gone");
    expect(held).toEqual([]);
    expect(presence.left.reason).toBe("gone");
  });
});

describe("a request whose client leaves", () => {
  it.each([false, true])("is held until it is over, and tells why (%s: had left before)", async (before) => {
    const client = new AbortController();
    const held: Promise<unknown>[] = [];
    const ctx = { waitUntil: (work: Promise<unknown>) => void held.push(work) } as unknown as ExecutionContext;
    if (before) client.abort("gone");
    const presence = new Presence(client.signal, ctx);
    if (!before) client.abort("gone");
    expect(presence.left.reason).toBe("gone");
    expect(held).toHaveLength(1);
    expect(await isSettled(held[0] as Promise<unknown>)).toBe(false);
    presence.over();
    await held[0];
  });
});

describe("work that no answer waits for", () => {
  it("holds the request only if it is not done when the answer is", async () => {
    const { held, presence } = attended();
    const quick = Promise.resolve("done");
    const slow = new Promise(() => {});
    const failed = Promise.reject(new Error("failed"));
    for (const work of [quick, slow, failed]) presence.behind(work);
    await quick;
    await failed.catch(() => {});
    await Promise.resolve();
    presence.over();
    expect(held).toEqual([slow]);
  });

  it("holds it when it comes after the answer", () => {
    const { held, presence } = attended();
    presence.over();
    const work = Promise.resolve();
    presence.behind(work);
    expect(held).toEqual([work]);
  });
});
