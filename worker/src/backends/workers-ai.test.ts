import { describe, expect, it } from "vitest";
import { type AiRun, answerWith, FakeAi, refuse, sse } from "../../test/support/fake-ai.ts";
import type { Call, Message, Piece } from "./backend.ts";
import { WorkersAi } from "./workers-ai.ts";

function call(changes: Partial<Call> = {}): Call {
  return {
    version: { backend: "workers-ai", id: "@cf/zai-org/glm-4.7-flash" },
    messages: [{ role: "user", content: "Hi" }],
    parameters: { max_tokens: 100 },
    session: "s1",
    gateway: null,
    signal: new AbortController().signal,
    ...changes,
  };
}

function backend(reply: (run: AiRun) => Response): { ai: FakeAi; backend: WorkersAi } {
  const ai = new FakeAi();
  ai.replyWith(reply);
  return { ai, backend: new WorkersAi(ai) };
}

async function piecesOf(stream: AsyncIterable<Piece>): Promise<Piece[]> {
  const pieces: Piece[] = [];
  for await (const piece of stream) pieces.push(piece);
  return pieces;
}

describe("Workers AI backend", () => {
  it("asks the model of the version, with its session, cap and gateway", async () => {
    const { ai, backend: workersAi } = backend(() => Response.json({ response: "ok" }));
    await workersAi.complete(call({ gateway: "gw", parameters: { max_tokens: 100, top_p: 0.5, unknown: 1 } }));
    expect(ai.lastRun.model).toBe("@cf/zai-org/glm-4.7-flash");
    expect(ai.lastRun.inputs).toEqual({ messages: [{ role: "user", content: "Hi" }], max_tokens: 100, top_p: 0.5 });
    expect(ai.lastRun.options).toMatchObject({ gateway: { id: "gw" }, extraHeaders: { "x-session-affinity": "s1" } });
  });

  it("asks for the adapter of the version, and never for one that a client names", async () => {
    const { ai, backend: workersAi } = backend(answerWith("Hi") as (run: AiRun) => Response);
    const version = { backend: "workers-ai", id: "@cf/google/gemma-2b-it-lora", lora: "support-tone-1" };
    await workersAi.complete(call({ version, parameters: { max_tokens: 9, lora: "somebody-elses" } }));
    expect(ai.lastRun.inputs.lora).toBe("support-tone-1");
    await piecesOf(await workersAi.stream(call({ version })));
    expect(ai.lastRun.inputs).toMatchObject({ stream: true, lora: "support-tone-1" });
    await workersAi.complete(call({ parameters: { max_tokens: 9, lora: "somebody-elses" } }));
    expect(ai.lastRun.inputs).not.toHaveProperty("lora");
  });

  it("always asks a stream for its usage", async () => {
    const { ai, backend: workersAi } = backend(answerWith("Hi") as (run: AiRun) => Response);
    await piecesOf(await workersAi.stream(call()));
    expect(ai.lastRun.inputs).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  });

  it("reads the older shape, streamed and not", async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
    const whole = await backend(() => Response.json({ response: "Hi 7", usage })).backend.complete(call());
    expect(whole).toEqual({
      choices: [{ index: 0, message: { role: "assistant", content: "Hi 7" }, finish_reason: "stop" }],
      usage,
    });
    // Some models send a token that is a number as a JSON number.
    const events = ['{"response":"Hi "}', '{"response":7}', JSON.stringify({ response: "", usage }), "[DONE]"];
    const pieces = await piecesOf(await backend(() => sse(events)).backend.stream(call()));
    expect(pieces.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toBe("Hi 7");
    expect(pieces.at(-1)?.choices[0]?.finish_reason).toBe("stop");
  });

  it("gw_09 tells an answer of the older shape that was cut by the cap", async () => {
    const usage = { prompt_tokens: 1, completion_tokens: 100 };
    const whole = await backend(() => Response.json({ response: "x", usage })).backend.complete(call());
    expect(whole.choices[0]?.finish_reason).toBe("length");
    const events = [JSON.stringify({ response: "x", usage }), "[DONE]"];
    const pieces = await piecesOf(await backend(() => sse(events)).backend.stream(call()));
    expect(pieces.at(-1)?.choices[0]?.finish_reason).toBe("length");
  });

  it("gives tool calls of the older shape OpenAI's", async () => {
    const reply = () => Response.json({ tool_calls: [{ name: "weather", arguments: { city: "北京" } }] });
    const { choices } = await backend(reply).backend.complete(call());
    expect(choices[0]).toMatchObject({
      finish_reason: "tool_calls",
      message: {
        tool_calls: [{ id: "call_0", type: "function", function: { name: "weather", arguments: '{"city":"北京"}' } }],
      },
    });
  });

  it.each([null, "x", [], { function: null }, { function: "f" }, {}])(
    "passes a tool call like %j on for Workers AI to judge",
    async (odd) => {
      const { ai, backend: workersAi } = backend(() => Response.json({ response: "ok" }));
      await workersAi.complete(call({ messages: [{ role: "assistant", content: null, tool_calls: [odd] }] }));
      expect(ai.lastRun.inputs.messages).toEqual([{ role: "assistant", content: "", tool_calls: [odd] }]);
    },
  );

  it("gw_10 sends only strings as content, and tool arguments as text", async () => {
    const { ai, backend: workersAi } = backend(() => Response.json({ response: "ok" }));
    const toolCall = { id: "c1", type: "function", function: { name: "f", arguments: { a: 1 } } };
    const messages: Message[] = [
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
      { role: "assistant", content: null, tool_calls: [toolCall] },
      { role: "tool", tool_call_id: "c1", content: "42" },
      { role: "user", content: "and?" },
    ];
    await workersAi.complete(call({ messages }));
    expect(ai.lastRun.inputs.messages).toEqual([
      { role: "user", content: "a\nb" },
      { role: "assistant", content: "", tool_calls: [{ ...toolCall, function: { name: "f", arguments: '{"a":1}' } }] },
      { role: "tool", tool_call_id: "c1", content: "42" },
      { role: "user", content: "and?" },
    ]);
  });

  it("gw_10 refuses an image, naming the field by the client's own index", async () => {
    const messages: Message[] = [
      { role: "system", content: "ours" },
      {
        role: "user",
        content: [
          { type: "text", text: "a" },
          { type: "image_url", image_url: { url: "x" } },
        ],
      },
    ];
    const version = { backend: "workers-ai", id: "@cf/x", prompt: "ours" };
    const run = backend(() => Response.json({ response: "ok" })).backend.complete(call({ messages, version }));
    await expect(run).rejects.toMatchObject({ status: 400, param: "messages[0].content[1]" });
  });

  it.each([
    [429, 3036, 429, "upstream_quota_exceeded"],
    [429, 3040, 429, "upstream_out_of_capacity"],
    [413, 3006, 400, "context_length_exceeded"],
    [408, 3007, 504, "upstream_timeout"],
    [400, 5007, 502, "upstream_refused"],
    [403, 5035, 502, "upstream_refused"],
    [400, 5006, 400, "invalid_request"],
    [413, 5021, 400, "context_length_exceeded"],
    [429, 3039, 429, "upstream_rate_limited"],
    [410, 5028, 502, "upstream_refused"],
    [404, 3037, 502, "upstream_refused"],
    [400, 3039, 502, "upstream_refused"],
    [500, 3043, 502, "upstream_error"],
  ])("answers a refusal %d/%d with %d %s", async (status, internal, wanted, code) => {
    const run = backend(refuse(status, internal, "why", { "retry-after": "7" }) as () => Response).backend.complete(
      call(),
    );
    const error = await run.catch((thrown) => thrown);
    expect(error).toMatchObject({ status: wanted, code, message: `Workers AI refused the request (${internal}): why` });
    expect(error.headers).toEqual(wanted === 429 ? { "retry-after": "7" } : {});
  });

  it("reads the REST form of a refusal, and a text that is none", async () => {
    const rest = () => Response.json({ success: false, errors: [{ code: 3040, message: "busy" }] }, { status: 429 });
    await expect(backend(rest).backend.complete(call())).rejects.toMatchObject({ code: "upstream_out_of_capacity" });
    const html = () => new Response("<html>bad gateway</html>", { status: 502 });
    await expect(backend(html).backend.stream(call())).rejects.toMatchObject({ status: 502, code: "upstream_error" });
  });

  it("takes a binding that throws for a backend that can't be reached", async () => {
    const throwing = (message: string) =>
      backend(() => {
        throw new Error(message);
      }).backend.complete(call());
    await expect(throwing("Network connection lost")).rejects.toMatchObject({
      status: 502,
      code: "upstream_unreachable",
    });
    await expect(throwing("AiError: 3040: Capacity")).rejects.toMatchObject({
      status: 429,
      code: "upstream_out_of_capacity",
    });
  });

  it.each([
    ["broken JSON", () => new Response("{", { headers: { "content-type": "application/json" } }), "upstream_broken"],
    ["no answer at all", () => Response.json({}), "upstream_error"],
  ])("calls %s a failure of the backend", async (_, reply, code) => {
    await expect(backend(reply).backend.complete(call())).rejects.toMatchObject({ status: 502, code });
  });

  it.each([
    ["a stream that just stops", ['{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}']],
    ["an older stream that just stops", ['{"response":"a"}']],
    ["a broken event", ['{"response":"a"}', '{"resp']],
    ["an error event", ['{"response":"a"}', '{"errors":[{"code":3040,"message":"x"}]}', "[DONE]"]],
    ["an empty stream", []],
  ])("calls %s a failure, not a short answer", async (_, events) => {
    const stream = await backend(() => sse(events)).backend.stream(call());
    await expect(piecesOf(stream)).rejects.toMatchObject({ status: 502, code: "upstream_broken" });
  });

  it("asks not to be queued when another model answers instead", async () => {
    const { ai, backend: workersAi } = backend(() => Response.json({ response: "ok" }));
    await workersAi.complete(call({ rejectIfBusy: true }));
    expect(ai.lastRun.options.rejectIfBusy).toBe(true);
    await workersAi.complete(call());
    expect(ai.lastRun.options).not.toHaveProperty("rejectIfBusy");
  });

  it("puts together tool calls of the older shape that come in bits", async () => {
    const bits = [
      { index: 1, id: "c9", name: "weather", arguments: "" },
      { index: 1, arguments: '{"city":' },
      { index: 1, arguments: '"Oslo"}' },
    ];
    const events = bits.map((bit) => JSON.stringify({ response: "", tool_calls: [bit] }));
    const pieces = await piecesOf(await backend(() => sse([...events, "[DONE]"])).backend.stream(call()));
    expect(pieces.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])).toEqual([
      { index: 1, id: "c9", type: "function", function: { name: "weather", arguments: "" } },
      { index: 1, function: { arguments: '{"city":' } },
      { index: 1, function: { arguments: '"Oslo"}' } },
    ]);
    expect(pieces.at(-1)?.choices[0]?.finish_reason).toBe("tool_calls");
  });

  it("embeds as many texts as it is given, as many a run as the model takes", async () => {
    const { ai, backend: workersAi } = backend(({ inputs }) => {
      const texts = inputs.text as string[];
      return Response.json({ data: texts.map((text) => [Number(text)]), usage: { prompt_tokens: texts.length } });
    });
    const input = Array.from({ length: 250 }, (_, index) => String(index));
    const found = await workersAi.embed({ ...call(), input, dimensions: null });
    expect(found.vectors.map(([value]) => value)).toEqual(input.map(Number));
    expect(found.usage).toEqual({ prompt_tokens: 250, completion_tokens: 0, total_tokens: 250 });
    expect(ai.runs.map(({ inputs }) => (inputs.text as string[]).length)).toEqual([100, 100, 50]);
  });

  it("refuses to embed tokens, which its models don't take", async () => {
    const { ai, backend: workersAi } = backend(() => Response.json({}));
    const embed = (input: (string | number[])[]) => workersAi.embed({ ...call(), input, dimensions: null });
    await expect(embed(["a", [1, 2]])).rejects.toMatchObject({ status: 400, param: "input[1]" });
    await expect(embed([[1, 2]])).rejects.toMatchObject({ status: 400, param: "input" });
    expect(ai.runs).toEqual([]);
  });
});
