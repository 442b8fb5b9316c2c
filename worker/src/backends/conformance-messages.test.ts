import { describe, expect, it } from "vitest";
import { call, KITS } from "../../test/support/backend-kits.ts";
import { answerWith } from "../../test/support/fake-ai.ts";
import type { Message } from "./backend.ts";

const seen = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };

describe.each(KITS)("%s", (_, make) => {
  it("gw_10 sends only strings as content, tool arguments as text, and no field that is null", async () => {
    const kit = make();
    kit.replyWith(answerWith("ok"));
    const toolCall = { id: "c1", type: "function", function: { name: "f", arguments: { a: 1 } } };
    const parts = [
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ];
    const said = { refusal: null, annotations: [], audio: null, function_call: null };
    const messages: Message[] = [
      { role: "user", content: parts },
      { role: "assistant", content: null, tool_calls: [toolCall], ...said },
      { role: "tool", tool_call_id: "c1", content: "42" },
      { role: "assistant", content: "so", tool_calls: [], ...said },
      { role: "user", content: "and?", name: null },
    ];
    await kit.backend.complete(call(kit, { messages }));
    const sent = { ...toolCall, function: { name: "f", arguments: '{"a":1}' } };
    expect(kit.asked().inputs.messages).toEqual([
      { role: "user", content: "a\nb" },
      { role: "assistant", content: "", tool_calls: [sent], annotations: [] },
      { role: "tool", tool_call_id: "c1", content: "42" },
      { role: "assistant", content: "so", annotations: [] },
      { role: "user", content: "and?" },
    ]);
    // What the client sent is the cache's key and the log's prompt too.
    expect(messages[0]?.content).toEqual(parts);
  });

  it("gw_10 refuses a picture for a model that sees none, by the client's own index", async () => {
    const kit = make();
    kit.replyWith(answerWith("ok"));
    const messages: Message[] = [
      { role: "system", content: "ours" },
      { role: "user", content: [{ type: "text", text: "a" }, seen] },
    ];
    const version = { ...kit.version, prompt: "ours" };
    const wanted = { status: 400, param: "messages[0].content[1]" };
    await expect(kit.backend.complete(call(kit, { messages, version }))).rejects.toMatchObject(wanted);
    await expect(kit.backend.stream(call(kit, { messages, version }))).rejects.toMatchObject(wanted);
    const ahead = kit.backend.complete(call(kit, { messages, ahead: 0 }));
    await expect(ahead).rejects.toMatchObject({ param: "messages[1].content[1]" });
    expect(() => kit.asked()).toThrow("was not asked");
  });

  it("passes a picture to a model that sees, and text alone as a string", async () => {
    const kit = make();
    kit.replyWith(answerWith("ok"));
    const version = { ...kit.version, vision: true };
    const text = { type: "text", text: "what is it?" };
    const messages: Message[] = [
      { role: "user", content: [text] },
      { role: "user", content: [text, seen] },
    ];
    await kit.backend.complete(call(kit, { messages, version }));
    expect(kit.asked().inputs.messages).toEqual([
      { role: "user", content: "what is it?" },
      { role: "user", content: [text, seen] },
    ]);
  });

  it.each([
    [[{ type: "input_audio", input_audio: {} }], "messages[0].content[0]"],
    [[{ type: "text", text: "a" }, seen, { type: "file", file: {} }], "messages[0].content[2]"],
    [[{ type: "image_url", image_url: { detail: "low" } }], "messages[0].content[0].image_url.url"],
    [[{ type: "image_url" }], "messages[0].content[0].image_url.url"],
    [[{ type: "image_url", image_url: { url: "http://169.254.169.254/" } }], "messages[0].content[0].image_url.url"],
  ])("refuses a part that no model takes, such as %j", async (content, param) => {
    const kit = make();
    const messages: Message[] = [{ role: "user", content }];
    const run = kit.backend.complete(call(kit, { messages, version: { ...kit.version, vision: true } }));
    await expect(run).rejects.toMatchObject({ status: 400, param });
  });
});
