import { expect, it } from "vitest";
import { growth, QUADRATIC } from "../../test/support/growth.ts";
import type { PieceChoice } from "../backends/backend.ts";
import { Collector } from "./collect.ts";
import { replay } from "./replay.ts";

function collect(choices: PieceChoice[]): Collector {
  const collector = new Collector();
  for (const choice of choices) collector.add({ choices: [choice], usage: null });
  return collector;
}

const says = (delta: Record<string, unknown>, index = 0, finish_reason: string | null = null) => ({
  index,
  delta,
  finish_reason,
});

it("folds content, reasoning and the reason to stop", () => {
  const pieces = [
    says({ role: "assistant", content: "" }),
    says({ reasoning: "hm" }),
    says({ content: "a" }),
    says({ content: "b" }, 0, "stop"),
  ];
  expect(collect(pieces).answer().choices).toEqual([
    { index: 0, message: { role: "assistant", content: "ab", reasoning: "hm" }, finish_reason: "stop" },
  ]);
});

it("keeps choices apart, in order", () => {
  const answer = collect([says({ content: "y" }, 1), says({ content: "x" }, 0), says({ content: "z" }, 1)]).answer();
  expect(answer.choices.map(({ index, message }) => [index, message.content])).toEqual([
    [0, "x"],
    [1, "yz"],
  ]);
});

it("folds a tool call that comes in parts", () => {
  const part = (call: object) => says({ tool_calls: [call] });
  const answer = collect([
    part({ index: 0, id: "c1", type: "function", function: { name: "f", arguments: "" } }),
    part({ index: 0, function: { arguments: '{"a"' } }),
    part({ index: 1, id: "c2", type: "function", function: { name: "g", arguments: "{}" } }),
    part({ index: 0, function: { arguments: ":1}" } }),
  ]).answer();
  expect(answer.choices[0]?.message.tool_calls).toEqual([
    { id: "c1", type: "function", function: { name: "f", arguments: '{"a":1}' } },
    { id: "c2", type: "function", function: { name: "g", arguments: "{}" } },
  ]);
});

it("gives back an answer that was replayed", async () => {
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  const choices = [
    { index: 0, message: { role: "assistant" as const, content: "北京", reasoning: "r" }, finish_reason: "stop" },
    { index: 1, message: { role: "assistant" as const, content: "b" }, finish_reason: "length" },
  ];
  const collector = new Collector();
  for await (const piece of replay({ choices, usage })) collector.add(piece);
  expect(collector.answer()).toEqual({ choices, usage });
});

it("folds lists of a long answer in proportion to its length, and leaves the pieces as they came", () => {
  const first = { ...says({ details: [0] }), logprobs: { content: [{ token: "a" }] } };
  const piecesOf = (length: number) => [
    first,
    ...Array.from({ length }, () => ({ ...says({ details: [1] }), logprobs: { content: [{ token: "b" }] } })),
  ];
  const grown = growth(5_000, (size) => {
    const pieces = piecesOf(size);
    return () => collect(pieces).answer();
  });
  expect(grown).toBeLessThan(QUADRATIC);
  const [choice] = collect(piecesOf(60_000)).answer().choices;
  expect(choice?.message.details).toHaveLength(60_001);
  expect(choice?.logprobs).toHaveProperty("content.length", 60_001);
  expect([first.delta.details, first.logprobs.content]).toEqual([[0], [{ token: "a" }]]);
});

it.each([4_294_967_290, 1e9, -1, 0.5, Number.NaN])("gives a tool call at place %d a place in the list", (index) => {
  const [choice] = collect([says({ tool_calls: [{ index, id: "c1", function: { name: "f" } }] })]).answer().choices;
  expect(choice?.message.tool_calls).toEqual([{ id: "c1", function: { name: "f" } }]);
});
