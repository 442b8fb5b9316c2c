import { env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { Message } from "../backends/backend.ts";
import type { GatewayEnv } from "../env.ts";
import type { Keeping } from "./conversation.ts";
import type { ConversationPort } from "./port.ts";

const namespace = (env as unknown as GatewayEnv).CONVERSATIONS;
const open = (name: string) => namespace.getByName(name) as unknown as ConversationPort;
const KEEPING: Keeping = { windowTokens: 1_000, ttl: 60, summarised: false };
const SMALL: Keeping = { ...KEEPING, windowTokens: 60 };

/** A turn of about 45 tokens. */
function turn(name: string): { system: null; messages: Message[] } {
  return {
    system: null,
    messages: [
      { role: "user", content: `${name} ${"word ".repeat(28)}` },
      { role: "assistant", content: name },
    ],
  };
}

async function firstWords(conversation: ConversationPort): Promise<string[]> {
  const { turns } = await conversation.recall();
  return turns.map(({ messages }) => String(messages[0]?.content).split(" ")[0] ?? "");
}

describe("Conversation", () => {
  it("begins empty, and remembers over an eviction", async () => {
    const conversation = open("remembers");
    expect(await conversation.recall()).toEqual({ system: [], summary: null, turns: [] });
    await conversation.append({ ...turn("one"), system: [{ role: "system", content: "s" }] }, KEEPING);
    await conversation.append(turn("two"), KEEPING);
    await evictDurableObject(namespace.getByName("remembers"));
    expect(await firstWords(conversation)).toEqual(["one", "two"]);
    expect((await conversation.recall()).system).toEqual([{ role: "system", content: "s" }]);
  });

  it("goes on with the last turn when its tool's result comes", async () => {
    const conversation = open("goes-on");
    await conversation.append(turn("one"), KEEPING);
    await conversation.append(turn("two"), KEEPING);
    await conversation.append(
      { system: null, messages: [{ role: "tool", tool_call_id: "c", content: "42" }] },
      KEEPING,
    );
    const { turns } = await conversation.recall();
    expect(turns.map(({ messages }) => messages.length)).toEqual([2, 3]);
  });

  it("forgets what falls out of the window, oldest first", async () => {
    const conversation = open("forgets");
    for (const name of ["one", "two", "three"]) expect(await conversation.append(turn(name), SMALL)).toBeNull();
    expect(await firstWords(conversation)).toEqual(["three"]);
    const left = await runInDurableObject(namespace.getByName("forgets"), (_, { storage }) =>
      storage.sql.exec("SELECT seq FROM turns").toArray(),
    );
    expect(left).toHaveLength(1);
  });

  it("keeps what fell until it is summed up, and takes a summary of each turn once", async () => {
    const conversation = open("sums-up");
    const keeping = { ...SMALL, summarised: true };
    expect(await conversation.append(turn("one"), keeping)).toBeNull();
    const first = await conversation.append(turn("two"), keeping);
    expect(first).toMatchObject({ summary: null, from: 1, upTo: 1 });
    const second = await conversation.append(turn("three"), keeping);
    expect(second).toMatchObject({ summary: null, from: 1, upTo: 2, turns: [{}, {}] });
    await conversation.sumUp({ from: 1, upTo: 2 }, "one and two");
    // Made of the same turns, but later: it would undo the other.
    await conversation.sumUp({ from: 1, upTo: 1 }, "one alone");
    expect((await conversation.recall()).summary).toBe("one and two");
    expect(await firstWords(conversation)).toEqual(["three"]);
    expect(await conversation.append(turn("four"), keeping)).toMatchObject({
      summary: "one and two",
      from: 3,
      upTo: 3,
    });
  });

  it("lets no heap of turns wait for a summary that never comes", async () => {
    const conversation = open("waits");
    for (let index = 0; index < 210; index++)
      await conversation.append(turn(`t${index}`), { ...SMALL, summarised: true });
    const fallen = await conversation.append(turn("last"), { ...SMALL, summarised: true });
    expect(fallen?.turns).toHaveLength(200);
    expect(fallen?.upTo).toBe(210);
  });

  it("branches: the conversation that it comes from stays as it is", async () => {
    const [from, left, right] = [open("from"), open("left"), open("right")];
    await from.append(turn("one"), KEEPING);
    const history = await from.recall();
    await left.branch(history, turn("two"), KEEPING);
    await right.branch(history, turn("first"), KEEPING);
    await right.branch(history, turn("other"), KEEPING);
    expect(await Promise.all([from, left, right].map(firstWords))).toEqual([["one"], ["one", "two"], ["one", "other"]]);
  });

  it("leaves nothing behind where it was only asked about, or forgotten", async () => {
    const left = (name: string) =>
      runInDurableObject(namespace.getByName(name), (_, { storage }) =>
        storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'").toArray(),
      );
    const asked = open("asked");
    expect(await asked.recall()).toEqual({ system: [], summary: null, turns: [] });
    await asked.sumUp({ from: 1, upTo: 1 }, "nothing");
    await asked.forget();
    expect(await left("asked")).toEqual([]);
    const told = open("told");
    await told.append(turn("one"), KEEPING);
    expect(await left("told")).not.toEqual([]);
    await told.forget();
    expect(await left("told")).toEqual([]);
    await told.append(turn("two"), KEEPING);
    expect(await firstWords(told)).toEqual(["two"]);
  });

  it("is gone when its time is over, and can begin anew", async () => {
    const conversation = open("ends");
    await conversation.append(turn("one"), KEEPING);
    const due = await runInDurableObject(namespace.getByName("ends"), (_, { storage }) => storage.getAlarm());
    expect((due ?? 0) - Date.now()).toBeGreaterThan(50_000);
    expect(await runDurableObjectAlarm(namespace.getByName("ends"))).toBe(true);
    expect(await firstWords(conversation)).toEqual([]);
    await conversation.append(turn("two"), KEEPING);
    expect(await firstWords(conversation)).toEqual(["two"]);
    await conversation.forget();
    expect(await conversation.recall()).toEqual({ system: [], summary: null, turns: [] });
  });
});
