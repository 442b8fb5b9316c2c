import { describe, expect, it } from "vitest";
import { readMessages } from "./messages.ts";

const param = (messages: unknown) => {
  try {
    readMessages(messages);
    return null;
  } catch (error) {
    return (error as { param: string }).param;
  }
};

describe("readMessages", () => {
  it("takes what OpenAI takes", () => {
    const messages = [
      { role: "developer", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "Hi" }], name: "ann" },
      { role: "assistant", content: null, tool_calls: [{ id: "c1" }] },
      { role: "tool", tool_call_id: "c1", content: "" },
    ];
    expect(readMessages(messages)).toEqual([{ role: "system", content: "Be brief." }, ...messages.slice(1)]);
  });

  it("repairs text that is not well-formed and drops control characters", () => {
    const dirty = "a\ud800b\u0000c\u001b[31m\td\ne\r\n北京🦊";
    expect(readMessages([{ role: "user", content: dirty }])[0]?.content).toBe("a\ufffdbc[31m\td\ne\r\n北京🦊");
    const parts = readMessages([{ role: "user", content: [{ type: "text", text: "x\u0007" }] }])[0]?.content;
    expect(parts).toEqual([{ type: "text", text: "x" }]);
  });

  it("wr_08 sanitises every other text of a message: names, tool calls, unknown parts and fields", () => {
    const dirty = "a\u0000\u202eb\ud800";
    const clean = "ab\ufffd";
    const call = (text: string) => ({ id: text, type: "function", function: { name: text, arguments: text } });
    const message = (text: string) => ({
      role: "assistant",
      content: [{ type: "other", other: text, deep: [{ er: text }] }],
      name: text,
      tool_calls: [call(text)],
      reasoning: text,
      count: 3,
      nothing: null,
    });
    expect(readMessages([message(dirty)])).toEqual([message(clean)]);
  });

  it("takes a refusal for the text that models get, and a text beside a picture for none", () => {
    const content = [
      { type: "refusal", refusal: "No\u0000." },
      { type: "image_url", image_url: { url: "https://a.test/b.png" }, text: "" },
    ];
    expect(readMessages([{ role: "user", content }])[0]?.content).toEqual([
      { type: "text", text: "No." },
      { type: "image_url", image_url: { url: "https://a.test/b.png" } },
    ]);
  });

  it("takes as many messages as OpenAI, and no more", () => {
    const many = (count: number) => Array.from({ length: count }, () => ({ role: "user", content: "" }));
    expect(readMessages(many(2_048))).toHaveLength(2_048);
    expect(param(many(2_049))).toBe("messages");
  });

  it("keeps a field called __proto__ a field", () => {
    const message = JSON.parse('{"role":"user","content":"a","x":{"__proto__":{"evil":true}}}') as unknown;
    const kept = readMessages([message])[0]?.x as object;
    expect(Object.keys(kept)).toEqual(["__proto__"]);
    expect("evil" in kept).toBe(false);
  });

  it.each(["extra", "tool_calls"])(
    "refuses a message that is nested too deep in %s instead of failing on it",
    (field) => {
      const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
      expect(param([JSON.parse(`{"role":"assistant","content":null,"${field}":${deep}}`)])).toBe("messages[0]");
      expect(param([JSON.parse(`{"role":"user","content":[{"type":"x","${field}":${deep}}]}`)])).toBe(
        "messages[0].content[0]",
      );
    },
  );

  it.each([
    [undefined, "messages"],
    [[], "messages"],
    ["Hi", "messages"],
    [["Hi"], "messages[0]"],
    [
      [
        { role: "user", content: "a" },
        { role: "robot", content: "b" },
      ],
      "messages[1].role",
    ],
    [[{ content: "b" }], "messages[0].role"],
    [[{ role: "user" }], "messages[0].content"],
    [[{ role: "user", content: null }], "messages[0].content"],
    [[{ role: "user", content: 5 }], "messages[0].content"],
    [[{ role: "user", content: ["a"] }], "messages[0].content[0].type"],
    [[{ role: "user", content: [{ type: "text" }] }], "messages[0].content[0].text"],
    [[{ role: "user", content: [null] }], "messages[0].content[0].type"],
    [[{ role: "tool", content: "b" }], "messages[0].tool_call_id"],
    [[{ role: "assistant", tool_calls: {} }], "messages[0].tool_calls"],
  ])("names the field at fault in %j", (messages, wanted) => {
    expect(param(messages)).toBe(wanted);
  });
});
