import { describe, expect, it } from "vitest";
import { DEFAULT_MAX_TOKENS, effective, readParameters } from "./parameters.ts";

const read = (body: Record<string, unknown>) => readParameters(body, 4_000);

describe("readParameters", () => {
  it("keeps what shapes the answer and leaves out what doesn't", () => {
    const body = {
      model: "chat",
      messages: [],
      user: "u",
      stream: true,
      stream_options: {},
      temperature: 0.5,
      seed: 1,
    };
    expect(read(body)).toEqual({ temperature: 0.5, seed: 1 });
  });

  it.each(["constructor", "toString", "hasOwnProperty", "__proto__"])(
    "takes a field called %s for any other",
    (name) => {
      const body = JSON.parse(`{"${name}": {"temperature": 99, "max_tokens": 99999}}`);
      const parameters = read(body);
      expect(Object.keys(parameters)).toEqual([name]);
      expect(parameters.temperature).toBeUndefined();
      expect(effective(null, parameters).max_tokens).toBe(DEFAULT_MAX_TOKENS);
    },
  );

  it("takes what OpenAI's newer fields may be", () => {
    const body = {
      stop: ["a", "b"],
      tools: [{ type: "function", function: { name: "f" } }],
      tool_choice: { type: "function", function: { name: "f" } },
      parallel_tool_calls: false,
      response_format: { type: "json_schema", json_schema: { name: "n", schema: {} } },
      logprobs: true,
      top_logprobs: 5,
      logit_bias: { "5": 1 },
      n: 2,
      reasoning_effort: "low",
      chat_template_kwargs: { thinking: false },
    };
    expect(read(body)).toEqual(body);
    expect(read({ stop: ".", tool_choice: "none" })).toEqual({ stop: ".", tool_choice: "none" });
  });

  it("takes as many tools as OpenAI does", () => {
    const tools = Array(128).fill({ type: "function", function: { name: "f" } });
    expect(read({ tools })).toEqual({ tools });
  });

  it("names the field that took the place of an older one", () => {
    for (const name of ["functions", "function_call"]) {
      expect(() => read({ [name]: [] })).toThrow(`\`${name}\` is not served: send \`tool`);
      expect(() => read({ [name]: "auto" })).toThrow("`tools`");
    }
  });

  it("takes null for absent", () => {
    expect(
      read({ functions: null, function_call: null, temperature: null, max_tokens: null, max_completion_tokens: null }),
    ).toEqual({});
  });

  it("gw_09 takes max_completion_tokens, which wins over the older name", () => {
    expect(read({ max_completion_tokens: 10 })).toEqual({ max_tokens: 10 });
    expect(read({ max_completion_tokens: 10, max_tokens: 20 })).toEqual({ max_tokens: 10 });
  });

  it.each([0, -1, "50", 1.5, 4_001, true, [], Number.NaN])("gw_09 refuses the cap %j", (cap) => {
    for (const name of ["max_tokens", "max_completion_tokens"]) {
      expect(() => read({ [name]: cap })).toThrow(`\`${name}\` must be a whole number from 1 to 4000.`);
    }
  });

  it.each([
    ["temperature", 2.1],
    ["temperature", "hot"],
    ["top_p", -0.1],
    ["seed", 1.5],
    ["n", 0],
    ["presence_penalty", 3],
    ["stop", 5],
    ["stop", ["a", 5]],
    ["stop", Array(17).fill("a")],
    ["tools", {}],
    ["tools", [null]],
    ["tools", [{ function: {} }]],
    ["tools", Array(129).fill({ type: "function", function: { name: "f" } })],
    ["functions", [{ name: "f" }]],
    ["functions", []],
    ["function_call", "auto"],
    ["function_call", { name: "f" }],
    ["tool_choice", true],
    ["parallel_tool_calls", "yes"],
    ["response_format", "json_object"],
    ["response_format", { type: "xml" }],
    ["response_format", []],
    ["logprobs", 3],
    ["logit_bias", []],
    ["reasoning_effort", 1],
    ["chat_template_kwargs", []],
    ["chat_template_kwargs", { chat_template: "{% for i in range(10**9) %}{% endfor %}" }],
    ["chat_template_kwargs", { thinking: true, tokenize: false }],
  ])("refuses %s %j, naming it", (name, value) => {
    expect(() => read({ [name]: value })).toThrow(expect.objectContaining({ status: 400, param: name }));
  });
});

describe("effective", () => {
  it("overlays the version's defaults with the client's wishes", () => {
    const asked = { temperature: 0, max_tokens: 5 };
    expect(effective({ temperature: 0.6, top_p: 0.9 }, asked)).toEqual({ temperature: 0, top_p: 0.9, max_tokens: 5 });
  });

  it("gw_09 always has an output cap", () => {
    expect(effective(null, {})).toEqual({ max_tokens: DEFAULT_MAX_TOKENS });
    expect(effective({ max_tokens: 1024 }, {})).toEqual({ max_tokens: 1024 });
  });
});
