import { describe, expect, it } from "vitest";
import { ResponseOutput } from "./output.ts";

type Delta = Record<string, unknown>;

/** What a list of deltas becomes: the events' names with where they happened, and the items. */
function played(deltas: Delta[], status: "completed" | "incomplete" = "completed") {
  const output = new ResponseOutput("x");
  const events = deltas.flatMap((delta) => output.add({ index: 0, delta, finish_reason: null }));
  events.push(...output.end(status));
  const steps = events.map(({ type, output_index, delta }) => {
    const name = type.replace("response.", "");
    return `${output_index} ${name}${delta === undefined ? "" : ` ${delta}`}`;
  });
  return { events, steps, items: output.items };
}

const call = (index: number, fields: Delta, id?: string): Delta => ({
  tool_calls: [{ index, ...(id !== undefined && { id, type: "function" }), function: fields }],
});

describe("ResponseOutput", () => {
  it("tells of a text in the order that clients rely on", () => {
    const { steps, items } = played([{ content: "Hello" }, { content: " you" }]);
    expect(steps).toEqual([
      "0 output_item.added",
      "0 content_part.added",
      "0 output_text.delta Hello",
      "0 output_text.delta  you",
      "0 output_text.done",
      "0 content_part.done",
      "0 output_item.done",
    ]);
    expect(items).toEqual([
      {
        id: "msg_x_0",
        type: "message",
        status: "completed",
        role: "assistant",
        content: [{ type: "output_text", text: "Hello you", annotations: [], logprobs: [] }],
      },
    ]);
  });

  it("tells of an item as it was then, not as it became", () => {
    const { events } = played([{ content: "Hello" }]);
    const [added, part] = events;
    expect(added?.item).toMatchObject({ status: "in_progress", content: [] });
    expect(part?.part).toMatchObject({ text: "" });
  });

  it("keeps thoughts, words and calls apart, each done before the next but calls, which may cross", () => {
    const { steps, items } = played([
      { reasoning: "hm" },
      { content: "Let me see." },
      call(0, { name: "f", arguments: "" }, "c1"),
      call(0, { arguments: '{"a"' }),
      call(1, { name: "g", arguments: "{}" }, "c2"),
      call(0, { arguments: ":1}" }),
    ]);
    expect(steps.filter((step) => /item|arguments/.test(step))).toEqual([
      "0 output_item.added",
      "0 output_item.done",
      "1 output_item.added",
      "1 output_item.done",
      "2 output_item.added",
      '2 function_call_arguments.delta {"a"',
      "3 output_item.added",
      "3 function_call_arguments.delta {}",
      "2 function_call_arguments.delta :1}",
      "2 function_call_arguments.done",
      "2 output_item.done",
      "3 function_call_arguments.done",
      "3 output_item.done",
    ]);
    expect(items.map(({ type }) => type)).toEqual(["reasoning", "message", "function_call", "function_call"]);
    expect(items[0]).toMatchObject({ content: [{ type: "reasoning_text", text: "hm" }], summary: [] });
    expect(items.slice(2)).toEqual([
      { id: "fc_x_2", type: "function_call", status: "completed", call_id: "c1", name: "f", arguments: '{"a":1}' },
      { id: "fc_x_3", type: "function_call", status: "completed", call_id: "c2", name: "g", arguments: "{}" },
    ]);
  });

  it("begins another part for a refusal, and another message after a call", () => {
    const { items } = played([
      { content: "a" },
      { refusal: "no" },
      call(0, { name: "f", arguments: {} }, "c"),
      { content: "b" },
    ]);
    expect(items.map(({ id, type }) => `${id} ${type}`)).toEqual([
      "msg_x_0 message",
      "fc_x_1 function_call",
      "msg_x_2 message",
    ]);
    expect(items[0]?.content).toMatchObject([
      { type: "output_text", text: "a" },
      { type: "refusal", refusal: "no" },
    ]);
    expect(items[1]?.arguments).toBe("{}");
  });

  it("is one empty message when nothing was said", () => {
    const { steps, items } = played([{}, { content: "" }, { tool_calls: [] }]);
    expect(items).toMatchObject([{ type: "message", content: [{ type: "output_text", text: "" }] }]);
    expect(steps[0]).toBe("0 output_item.added");
    expect(steps.at(-1)).toBe("0 output_item.done");
  });

  it("says of what was cut that it is not complete", () => {
    expect(played([{ content: "a" }], "incomplete").items[0]?.status).toBe("incomplete");
    const { items } = played([{ reasoning: "hm" }, { content: "a" }], "incomplete");
    expect(items.map(({ status }) => status)).toEqual(["completed", "incomplete"]);
  });

  it("names a call that its model left without an id", () => {
    const { items } = played([call(0, { name: "f", arguments: "{}" })]);
    expect(items[0]).toMatchObject({ call_id: expect.stringMatching(/^call_/), name: "f" });
  });
});
