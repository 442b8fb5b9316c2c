import { describe, expect, it } from "vitest";
import type { Answer } from "../backends/backend.ts";
import { judge } from "./judge.ts";

type Json = Record<string, unknown>;

function answer(message: Json, finish_reason = "stop"): Answer {
  return {
    choices: [{ index: 0, message: { role: "assistant", content: null, ...message }, finish_reason }],
    usage: null,
  };
}
const says = (content: string, finish?: string) => answer({ content }, finish);
const calls = (name: string, args: unknown) =>
  answer({ tool_calls: [{ id: "c", type: "function", function: { name, arguments: args } }] }, "tool_calls");

const JSON_MODE = { response_format: { type: "json_object" } };
const schema = { type: "object", required: ["city"], properties: { city: { type: "string" } } };
const BY_SCHEMA = { response_format: { type: "json_schema", json_schema: { name: "n", schema } } };
const TOOLS = { tools: [{ type: "function", function: { name: "weather", parameters: schema } }] };

describe("json", () => {
  it("doesn't apply where neither JSON nor a tool was asked for", () => {
    expect(judge(says("{"), {}).json).toBeNull();
    expect(judge(says("{"), { response_format: { type: "text" }, tools: [] }).json).toBeNull();
  });

  it.each<[string, Answer, Json, boolean]>([
    ["JSON", says('{"a": 1}'), JSON_MODE, false],
    ["a sentence", says("Here you are: {"), JSON_MODE, true],
    ["JSON that was cut", says('{"a": '), JSON_MODE, true],
    ["JSON in a fence", says('```json\n{"a": 1}\n```'), JSON_MODE, true],
    ["what the schema wants", says('{"city": "Bern"}'), BY_SCHEMA, false],
    ["a field of another type", says('{"city": 3}'), BY_SCHEMA, true],
    ["a field too few", says("{}"), BY_SCHEMA, true],
    ["a call as the tool wants it", calls("weather", '{"city": "Bern"}'), TOOLS, false],
    ["a call with half its arguments", calls("weather", '{"city": "Be'), TOOLS, true],
    ["a call without what the tool needs", calls("weather", "{}"), TOOLS, true],
    ["a call with a list", calls("weather", "[]"), TOOLS, true],
    ["a call that is none", answer({ tool_calls: [null] }, "tool_calls"), TOOLS, true],
    ["a call of nothing", answer({ tool_calls: [{ id: "c", function: null }] }, "tool_calls"), TOOLS, true],
    ["a call of a tool that nobody offered", calls("wether", '{"city": "Bern"}'), TOOLS, true],
    ["no call where one was optional", says("It is sunny."), TOOLS, false],
    ["no call where one was required", says("It is sunny."), { ...TOOLS, tool_choice: "required" }, true],
  ])("takes %s for what it is", (_, given, parameters, bad) => {
    expect(judge(given, parameters).json).toBe(bad);
  });

  it("is bad when one of two choices is", () => {
    const [good, bad] = [says("{}"), says("no")];
    expect(judge({ choices: [...good.choices, ...bad.choices], usage: null }, JSON_MODE).json).toBe(true);
  });

  it("calls nothing bad for words of a schema that it doesn't know", () => {
    const odd = { $ref: "#/x", anyOf: [{ type: "string" }], type: ["object", "null"], patternProperties: {} };
    const parameters = { response_format: { type: "json_schema", json_schema: { schema: odd } } };
    expect(judge(says("{}"), parameters).json).toBe(false);
  });
});

describe("empty", () => {
  it.each<[string, Answer, Json, boolean]>([
    ["a text", says("Yes."), {}, false],
    ["nothing", answer({}), {}, true],
    ["white space", says(" \n "), {}, true],
    ["no choice at all", { choices: [], usage: null }, {}, true],
    ["a call without text", calls("weather", "{}"), {}, false],
    ["a text that the version's own limit has cut", says("It is", "length"), {}, true],
    ["a text that the client's limit has cut", says("It is", "length"), { max_tokens: 2 }, false],
    ["nothing but thoughts", answer({ reasoning_content: "Hm." }, "length"), { max_tokens: 2 }, true],
    ["a refusal in its own field", answer({ refusal: "No." }), {}, false],
  ])("takes %s for what it is", (_, given, parameters, bad) => {
    expect(judge(given, parameters).empty).toBe(bad);
  });
});

describe("refusal", () => {
  it.each([
    "I'm sorry, but I can't help with that.",
    "I’m sorry, but I can’t assist with that request.",
    "Sorry, I am unable to do this.",
    "Unfortunately, I cannot provide that.",
    "I cannot assist with this.",
    "I can't fulfill this request.",
    "As an AI language model, I cannot give medical advice.",
    "抱歉，我无法回答这个问题。",
    "很抱歉，这个我不能帮您。",
    "作为一个人工智能助手，我无法提供这类信息。",
    "我无法协助完成此请求。",
  ])("is %s", (text) => {
    expect(judge(says(text), {}).refusal).toBe(true);
  });

  it.each([
    "I can help with that.",
    "Sorry for the delay. Here is the list.",
    "You cannot park here: I can't see a sign that allows it.",
    "The model said: I'm sorry, but I can't help with that.",
    "I can't wait to see it.",
    "抱歉让您久等了，答案是 42。",
    "我不能更同意了。",
    "无法打开文件时，请检查路径。",
    "",
  ])("is not %s", (text) => {
    expect(judge(says(text), {}).refusal).toBe(false);
  });

  it("is also what a filter or the model's own field says", () => {
    expect(judge(says("", "content_filter"), {}).refusal).toBe(true);
    expect(judge(answer({ refusal: "No." }), {}).refusal).toBe(true);
  });
});
