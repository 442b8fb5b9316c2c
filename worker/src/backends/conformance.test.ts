import { describe, expect, it } from "vitest";
import { call, choice, KITS, streamed, textOf } from "../../test/support/backend-kits.ts";
import { answerWith, sse, stall, streamOf } from "../../test/support/fake-ai.ts";

describe.each(KITS)("%s", (_, make) => {
  it("answers whole, with the version's model, the client's parameters and the usage", async () => {
    const kit = make();
    kit.replyWith(answerWith("one two three"));
    const answer = await kit.backend.complete(call(kit, { parameters: { max_tokens: 2, seed: 1, unknown: 1 } }));
    expect(answer).toEqual({
      choices: [{ index: 0, message: { role: "assistant", content: "one two " }, finish_reason: "length" }],
      usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
    });
    expect(kit.asked().model).toBe(kit.version.id);
    expect(kit.asked().inputs).toMatchObject({ max_tokens: 2, seed: 1, messages: [{ role: "user", content: "Hi" }] });
    expect(kit.asked().inputs).not.toHaveProperty("unknown");
  });

  it("gw_02 asks a stream for its usage always, and gives it last", async () => {
    const kit = make();
    kit.replyWith(answerWith("one two"));
    const pieces = await streamed(kit);
    expect(kit.asked().inputs).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    expect(textOf(pieces)).toBe("one two");
    expect(pieces.at(-1)).toEqual({
      choices: [],
      usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
    });
    expect(pieces.flatMap(({ choices }) => choices.map((one) => one.finish_reason)).filter(Boolean)).toEqual(["stop"]);
  });

  it("gw_02 says null where no usage was told", async () => {
    const kit = make();
    kit.replyWith(answerWith("one", { usage: false }));
    expect((await kit.backend.complete(call(kit))).usage).toBeNull();
    expect((await streamed(kit)).every(({ usage }) => usage === null)).toBe(true);
  });

  it("gw_01 reads the same stream wherever its bytes are cut", async () => {
    const kit = make();
    const events = [choice({ delta: { content: "北京" } }), choice({ delta: { content: "🦊" } }), choice({}, "stop")];
    const bytes = new TextEncoder().encode([...events, "[DONE]"].map((event) => `data: ${event}\r\n\r\n`).join(""));
    for (let cut = 1; cut <= bytes.length; cut++) {
      kit.replyWith(() => streamOf([bytes.slice(0, cut), bytes.slice(cut)]));
      expect(textOf(await streamed(kit))).toBe("北京🦊");
    }
    kit.replyWith(() => streamOf(Array.from(bytes, (byte) => Uint8Array.of(byte))));
    expect(textOf(await streamed(kit))).toBe("北京🦊");
  });

  it("streams tool calls as they come, each with its place", async () => {
    const kit = make();
    const begun = { index: 1, id: "c1", type: "function", function: { name: "weather", arguments: "" } };
    const more = { index: 1, function: { arguments: '{"city":"北京"}' } };
    kit.replyWith(() =>
      sse([
        choice({ delta: { role: "assistant", content: null, tool_calls: [begun] } }),
        choice({ delta: { tool_calls: [more] } }),
        choice({}, "tool_calls"),
        "[DONE]",
      ]),
    );
    const pieces = await streamed(kit);
    expect(pieces.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])).toEqual([begun, more]);
    expect(pieces.at(-1)?.choices[0]?.finish_reason).toBe("tool_calls");
  });

  it("passes tools, JSON mode, stop, n and log probabilities on, and gives back what comes of them", async () => {
    const kit = make();
    const asked = {
      ...{ max_tokens: 9, tools: [{ type: "function", function: { name: "f" } }], tool_choice: "auto", n: 2 },
      ...{ response_format: { type: "json_object" }, logprobs: true, top_logprobs: 2, stop: ["x"] },
    };
    const logprobs = { content: [{ token: "a", logprob: -0.1 }] };
    const choices = [0, 1].map((index) => ({
      index,
      message: { role: "assistant", content: `{"a":${index}}` },
      logprobs,
      finish_reason: "stop",
    }));
    kit.replyWith(() => Response.json({ choices }));
    expect((await kit.backend.complete(call(kit, { parameters: asked }))).choices).toEqual(choices);
    expect(kit.asked().inputs).toMatchObject(asked);
  });

  it("keeps several streamed choices apart, and takes none for done while one is open", async () => {
    const kit = make();
    const at = (index: number, content: string, finish_reason: string | null) =>
      JSON.stringify({ choices: [{ index, delta: { content }, finish_reason }] });
    const both = [at(0, "a", null), at(1, "b", null), at(0, "", "stop")];
    kit.replyWith(() => sse([...both, at(1, "", "stop"), "[DONE]"]));
    expect((await streamed(kit)).map(({ choices }) => choices[0]?.index)).toEqual([0, 1, 0, 1]);
    kit.replyWith(() => sse([...both, "[DONE]"]));
    await expect(streamed(kit)).rejects.toMatchObject({ code: "upstream_broken" });
  });

  it.each(["reasoning", "reasoning_content"])("passes %s through, whole and streamed", async (field) => {
    const kit = make();
    const message = { role: "assistant", content: "4", [field]: "2 and 2" };
    kit.replyWith(() => Response.json({ choices: [{ index: 0, message, finish_reason: "stop" }] }));
    expect((await kit.backend.complete(call(kit))).choices[0]?.message).toEqual(message);
    kit.replyWith(() => sse([choice({ delta: { [field]: "2 and 2" } }), choice({}, "stop"), "[DONE]"]));
    expect((await streamed(kit))[0]?.choices[0]?.delta).toEqual({ [field]: "2 and 2" });
  });

  it("makes text of what comes as parts, a number or an object", async () => {
    const kit = make();
    const parts = [{ type: "thinking", thinking: [] }, { type: "text", text: "a" }, { type: "text", text: "b" }]; // biome-ignore format: short
    for (const [content, text] of [
      [parts, "ab"],
      [7, "7"],
      [{ a: 1 }, '{"a":1}'],
      [[1, 2], "[1,2]"],
    ] as const) {
      // biome-ignore format: short
      const message = { role: "assistant", content };
      kit.replyWith(() => Response.json({ choices: [{ index: 0, message, finish_reason: "stop" }] }));
      expect((await kit.backend.complete(call(kit))).choices[0]?.message.content).toBe(text);
      kit.replyWith(() => sse([choice({ delta: { content } }), choice({}, "stop"), "[DONE]"]));
      expect(textOf(await streamed(kit))).toBe(text);
    }
  });

  it.each([
    [{ prompt_tokens: -5, completion_tokens: 1 }],
    [{ prompt_tokens: 5, completion_tokens: "1" }],
    [{ prompt_tokens: null, completion_tokens: 1 }],
    ["x"],
    [7],
  ])("gw_15 takes no usage for told that can't be: %j", async (usage) => {
    const kit = make();
    const message = { role: "assistant", content: "x" };
    kit.replyWith(() => Response.json({ choices: [{ index: 0, message, finish_reason: "stop" }], usage }));
    expect((await kit.backend.complete(call(kit))).usage).toBeNull();
  });

  it("gw_15 tells cached tokens in OpenAI's field, wherever the server tells them", async () => {
    const kit = make();
    const message = { role: "assistant", content: "x" };
    for (const field of ["cached_tokens", "prompt_cache_hit_tokens"]) {
      const usage = { prompt_tokens: 10, completion_tokens: 1, [field]: 8 };
      kit.replyWith(() => Response.json({ choices: [{ index: 0, message, finish_reason: "stop" }], usage }));
      const told = (await kit.backend.complete(call(kit))).usage;
      expect(told).toMatchObject({ prompt_tokens: 10, prompt_tokens_details: { cached_tokens: 8 } });
    }
  });

  it("gw_17 stops when it is aborted: before the answer, and in the middle of a stream", async () => {
    const kit = make();
    const abort = new AbortController();
    kit.replyWith(() => new Promise(() => {}));
    const waiting = kit.backend.complete(call(kit, { signal: abort.signal }));
    abort.abort(new Error("client left"));
    await expect(waiting).rejects.toThrow("client left");
    expect(kit.asked().aborted).toBe(true);

    const second = new AbortController();
    let cancelled = false;
    kit.replyWith(() =>
      stall(["a"], () => {
        cancelled = true;
      }),
    );
    const stream = (await kit.backend.stream(call(kit, { signal: second.signal })))[Symbol.asyncIterator]();
    expect((await stream.next()).value).toMatchObject({ choices: [{ delta: { content: "a" } }] });
    const next = stream.next();
    second.abort(new Error("client left"));
    await expect(next).rejects.toThrow("client left");
    expect(cancelled).toBe(true);
  });

  it("cancels the stream when its reader has enough", async () => {
    const kit = make();
    let cancelled = false;
    kit.replyWith(() =>
      stall(["a"], () => {
        cancelled = true;
      }),
    );
    for await (const _ of await kit.backend.stream(call(kit))) break;
    expect(cancelled).toBe(true);
  });

  it("hands session and trace on", async () => {
    const kit = make();
    kit.replyWith(answerWith("ok"));
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await kit.backend.complete(call(kit, { traceparent }));
    expect(kit.asked().options.extraHeaders).toMatchObject({ "x-session-affinity": "s1", traceparent });
  });
});
