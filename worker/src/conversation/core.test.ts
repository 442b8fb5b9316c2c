import { describe, expect, it } from "vitest";
import type { Answer, Message } from "../backends/backend.ts";
import {
  addition,
  fitting,
  type History,
  joined,
  NO_HISTORY,
  recalled,
  summaryRequest,
  trimmed,
  turnsOf,
} from "./core.ts";

const user = (content: string): Message => ({ role: "user", content });
const assistant = (content: string): Message => ({ role: "assistant", content });
const system = (content: string): Message => ({ role: "system", content });
const call: Message = {
  role: "assistant",
  content: null,
  tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: "{}" } }],
};
const result: Message = { role: "tool", tool_call_id: "c1", content: "42" };
const answer = (message: Record<string, unknown>): Answer => ({
  choices: [{ index: 0, message: { role: "assistant", content: null, ...message }, finish_reason: "stop" }],
  usage: null,
});
const history = (...messages: Message[]): History => ({ ...NO_HISTORY, turns: turnsOf(messages) });
/** Texts of 40 tokens by any estimate that counts four letters as one. */
const long = (name: string) => `${name} ${"word ".repeat(32)}`;

describe("turnsOf", () => {
  it("keeps a tool's call and result in the turn that asked for them", () => {
    const turns = turnsOf([user("a"), call, result, assistant("b"), user("c"), assistant("d")]);
    expect(turns.map(({ messages }) => messages.map(({ role }) => role))).toEqual([
      ["user", "assistant", "tool", "assistant"],
      ["user", "assistant"],
    ]);
  });

  it("counts what a tool call says too", () => {
    const [quiet, talking] = [
      [user("a"), assistant("")],
      [user("a"), call],
    ].map((messages) => turnsOf(messages)[0]);
    expect(talking?.tokens).toBeGreaterThan(quiet?.tokens ?? 0);
  });
});

it("counts a picture by its size, so that a history of pictures ends too", () => {
  const url = `data:image/png;base64,${"A".repeat(64_000)}`;
  const [picture] = turnsOf([{ role: "user", content: [{ type: "image_url", image_url: { url } }] }]);
  expect(picture?.tokens).toBeGreaterThan(1_000);
  const [text] = turnsOf([{ role: "user", content: [{ type: "text", text: "北京".repeat(100) }] }]);
  expect(text?.tokens).toBe(turnsOf([user("北京".repeat(100))])[0]?.tokens);
});

it.each([
  ["blanks", { content: " ".repeat(64_000) }],
  ["a field of the client's", { content: "Hi", extra: { data: "A".repeat(64_000) } }],
])("counts %s by their size, so that what is kept ends", (_, fields) => {
  const [turn] = turnsOf([{ role: "user", ...fields }]);
  expect(turn?.tokens).toBeGreaterThan(999);
});

describe("fitting", () => {
  it("takes the newest turns that fit, whole, and none beyond the first that doesn't", () => {
    const turns = [1, 50, 2].map((tokens) => ({ messages: [], tokens }));
    expect(fitting(turns, 100)).toEqual(turns);
    expect(fitting(turns, 52).map(({ tokens }) => tokens)).toEqual([50, 2]);
    expect(fitting(turns, 51).map(({ tokens }) => tokens)).toEqual([2]);
    expect(fitting(turns, 1)).toEqual([]);
    expect(fitting(turns, -5)).toEqual([]);
  });
});

describe("recalled", () => {
  it("puts the history before what is asked, oldest turns away first", () => {
    const past = history(user(long("one")), assistant("1"), user(long("two")), assistant("2"));
    expect(recalled(past, [user("now")], 1_000)).toHaveLength(5);
    expect(recalled(past, [user("now")], 60).map(({ content }) => content)).toEqual([long("two"), "2", "now"]);
    expect(recalled(past, [user("now")], 0)).toEqual([user("now")]);
  });

  it("never parts a tool's result from its call, however small the room", () => {
    const past = history(user(long("one")), assistant("1"), user(long("two")), call);
    expect(recalled(past, [result], 0)).toEqual([user(long("two")), call, result]);
  });

  it("lets system messages hold until others come", () => {
    const past = { ...history(user("a"), assistant("b")), system: [system("old")] };
    expect(recalled(past, [user("c")], 1_000)[0]).toEqual(system("old"));
    const changed = recalled(past, [system("new"), user("c")], 1_000);
    expect(changed.filter(({ role }) => role === "system")).toEqual([system("new")]);
    expect(changed[0]).toEqual(system("new"));
  });

  it("gives a summary no more weight than a user's words", () => {
    const past = { ...history(user("a"), assistant("b")), summary: "They spoke of 北京." };
    const [first, ...rest] = recalled(past, [user("c")], 1_000);
    expect(first).toMatchObject({ role: "user", content: expect.stringContaining("They spoke of 北京.") });
    expect(rest).toEqual([user("a"), assistant("b"), user("c")]);
  });
});

describe("addition and joined", () => {
  it("adds what was asked and the first choice, without its reasoning", () => {
    const added = addition([system("s"), user("a")], answer({ content: "b", reasoning: "hm", refusal: null }));
    expect(added).toEqual({ system: [system("s")], messages: [user("a"), assistant("b")] });
    expect(addition([user("a")], answer({ content: "b" })).system).toBeNull();
  });

  it("goes on with the last turn when a tool's result comes, and begins another for a user's message", () => {
    const { turns } = history(user("a"), call);
    const on = joined(turns, addition([result], answer({ content: "42 it is" })).messages);
    expect(on.same).toBe(0);
    expect(on.turns).toHaveLength(1);
    expect(on.turns[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(on.turns[0]?.tokens).toBeGreaterThan(turns[0]?.tokens ?? 0);
    const next = joined(on.turns, [user("b"), assistant("c")]);
    expect([next.same, next.turns.length]).toEqual([1, 2]);
  });
});

describe("trimmed", () => {
  it("lets the oldest fall, but never the latest", () => {
    const { turns } = history(user(long("one")), assistant("1"), user(long("two")), assistant("2"));
    expect(trimmed(turns, 1_000).fallen).toEqual([]);
    expect(trimmed(turns, 60)).toEqual({ kept: [turns[1]], fallen: [turns[0]] });
    expect(trimmed(turns, 1)).toEqual({ kept: [turns[1]], fallen: [turns[0]] });
    expect(trimmed([], 1)).toEqual({ kept: [], fallen: [] });
  });
});

it("asks for a summary of the old summary and what fell", () => {
  const messages = summaryRequest("Before.", turnsOf([user("a"), assistant("b")]));
  expect(messages[1]?.content).toMatch(/Before\.[\s\S]*user: a\nassistant: b/);
  expect(summaryRequest(null, [])[1]?.content).not.toMatch(/so far/);
});
