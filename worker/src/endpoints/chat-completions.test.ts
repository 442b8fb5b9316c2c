import { createExecutionContext } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { answerWith, delta, refuse, sse, stall, streamOf } from "../../test/support/fake-ai.ts";
import { chatBody, errorOf, eventsOf, Stage, textOfEvents } from "../../test/support/stage.ts";

const PATH = "/v1/chat/completions";
type Json = Record<string, unknown>;
const encoder = new TextEncoder();

describe("POST /v1/chat/completions", () => {
  it("answers in OpenAI's shape", async () => {
    const response = await new Stage().chat();
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      id: "chatcmpl-req-test-1",
      object: "chat.completion",
      created: expect.any(Number),
      model: "chat@1",
      system_fingerprint: "r-0123456789ab",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "Hello from the model." },
          finish_reason: "stop",
          logprobs: null,
        },
      ],
      usage: { prompt_tokens: 7, completion_tokens: 4, total_tokens: 11 },
    });
  });

  it("says the same streamed and not", async () => {
    const stage = new Stage();
    stage.ai.replyWith(answerWith("北京 is the capital 🦊 of\n\nChina."));
    const whole = (await (await stage.chat()).json()) as { choices: { message: { content: string } }[] };
    const streamed = textOfEvents(await eventsOf(await stage.chat({ stream: true })));
    expect(streamed).toBe(whole.choices[0]?.message.content);
    expect(streamed).toBe("北京 is the capital 🦊 of\n\nChina.");
  });

  it("streams chunks of one answer: one role, one reason to stop, one [DONE]", async () => {
    const events = await eventsOf(await new Stage().chat({ stream: true }));
    const chunks = events.slice(0, -1) as {
      id: string;
      object: string;
      choices: { delta: Json; finish_reason: unknown }[];
    }[];
    expect(new Set(chunks.map(({ id, object }) => `${id} ${object}`))).toEqual(
      new Set(["chatcmpl-req-test-1 chat.completion.chunk"]),
    );
    expect(chunks.filter(({ choices }) => choices[0]?.delta.role !== undefined)).toHaveLength(1);
    expect(chunks[0]?.choices[0]?.delta.role).toBe("assistant");
    expect(chunks.flatMap(({ choices }) => choices.map((choice) => choice.finish_reason)).filter(Boolean)).toEqual([
      "stop",
    ]);
    expect(events.filter(({ done }) => done)).toHaveLength(1);
    expect(events.at(-1)).toEqual({ done: true });
  });

  it.each([
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ])("gw_02 puts usage where it belongs: asked for %s, told upstream %s", async (asked, told) => {
    const stage = new Stage();
    stage.ai.replyWith(answerWith("a b c", { usage: told }));
    const options = asked ? { stream_options: { include_usage: true } } : {};
    const events = await eventsOf(await stage.chat({ stream: true, ...options }));
    const withUsage = events.filter((event) => event.usage !== null && event.usage !== undefined);
    expect(withUsage).toHaveLength(asked ? 1 : 0);
    if (asked) {
      expect(events.at(-2)).toMatchObject({ choices: [], usage: { total_tokens: expect.any(Number) } });
      expect(events[0]).toHaveProperty("usage", null);
    }
    for (const event of events.slice(0, asked ? -2 : -1)) expect(event.choices).toHaveLength(1);
    expect(events.filter(({ done }) => done)).toHaveLength(1);
    const [line] = stage.requestLogs;
    expect(line?.usage_estimated).toBe(!told);
    expect(line?.prompt_tokens).toBeGreaterThan(0);
    expect(line?.completion_tokens).toBeGreaterThan(0);
  });

  it("gw_03 gives a refusal before the first byte its real status", async () => {
    const stage = new Stage();
    stage.ai.replyWith(refuse(429, 3040, "Capacity temporarily exceeded", { "retry-after": "3" }));
    const response = await stage.chat({ stream: true });
    expect(response.status).toBe(429);
    expect(response.headers.get("retry-after")).toBe("3");
    expect(response.headers.get("content-type")).toMatch(/^application\/json/);
    expect(await errorOf(response)).toMatchObject({ code: "upstream_out_of_capacity", request_id: "req-test-1" });
  });

  it("gw_03 gives a failure after only a start frame its real status", async () => {
    const stage = new Stage();
    const start = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }] })}\n\n`;
    stage.ai.replyWith(() => streamOf([encoder.encode(start)], new Error("reset")));
    expect((await stage.chat({ stream: true })).status).toBe(502);
  });

  it("gw_03 ends a stream that breaks with one error event, and no reason to stop", async () => {
    const stage = new Stage();
    const sent = encoder.encode(`data: ${delta("two ")}\n\ndata: ${delta("tokens")}\n\n`);
    stage.ai.replyWith(() => streamOf([sent], new Error("connection reset")));
    const events = await eventsOf(await stage.chat({ stream: true, temperature: 0 }));
    expect(textOfEvents(events)).toBe("two tokens");
    expect(events.at(-1)).toMatchObject({ error: { code: "upstream_broken", request_id: "req-test-1" } });
    expect(events.filter((event) => "error" in event)).toHaveLength(1);
    expect(JSON.stringify(events)).not.toContain('"finish_reason":"stop"');
    expect(stage.requestLogs[0]).toMatchObject({ level: "error", error: "upstream_broken", usage_estimated: true });
  });

  it("gw_03 ends a stream that falls silent, and gives it up", async () => {
    const stage = new Stage({ timeouts: { idle_ms: 50 } });
    let cancelled = false;
    stage.ai.replyWith(() =>
      stall(["two ", "tokens"], () => {
        cancelled = true;
      }),
    );
    const events = await eventsOf(await stage.chat({ stream: true }));
    expect(textOfEvents(events)).toBe("two tokens");
    expect(events.at(-1)).toMatchObject({ error: { code: "upstream_timeout" } });
    expect(cancelled).toBe(true);
  });

  it("gw_03 gives a model that never begins a 504, streamed or not", async () => {
    const stage = new Stage({ timeouts: { first_token_ms: 50, answer_ms: 50 } });
    stage.ai.replyWith(() => stall([]));
    expect((await stage.chat({ stream: true })).status).toBe(504);
    stage.ai.replyWith(() => new Promise<Response>(() => {}));
    expect((await stage.chat()).status).toBe(504);
    expect(stage.ai.lastRun.aborted).toBe(true);
  });

  it("gives the model up when the client leaves a stream, and still books what was said", async () => {
    const stage = new Stage();
    let cancelled = false;
    stage.ai.replyWith(() =>
      stall(["a ", "b "], () => {
        cancelled = true;
      }),
    );
    const response = await stage.send({ path: PATH, body: chatBody({ stream: true }) });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await reader.cancel("gone");
    await expect.poll(() => cancelled).toBe(true);
    expect(stage.ai.lastRun.options.signal.aborted).toBe(true);
    await expect.poll(() => stage.requestLogs.length).toBe(1);
    expect(stage.requestLogs[0]).toMatchObject({ error: "client_disconnected", usage_estimated: true });
    expect(stage.requestLogs[0]?.completion_tokens).toBeGreaterThan(0);
  });

  it.each([true, false])(
    "gives the model up when the client leaves before the first byte (stream: %s)",
    async (stream) => {
      const stage = new Stage();
      stage.ai.replyWith(() => new Promise<Response>(() => {}));
      const client = new AbortController();
      const ctx = createExecutionContext();
      const answer = stage.send({ path: PATH, body: chatBody({ stream }), signal: client.signal }, ctx);
      await expect.poll(() => stage.ai.runs.length).toBe(1);
      client.abort();
      await answer.catch(() => {});
      expect(stage.ai.lastRun.aborted).toBe(true);
      await expect.poll(() => stage.logs.length).toBe(1);
      expect(stage.logs).toMatchObject([
        { event: "request", level: "info", status: 499, error: "client_disconnected" },
      ]);
    },
  );

  it("gw_09 asks for enough room when the client names none, and tells when a cap was hit", async () => {
    const stage = new Stage();
    const long = Array.from({ length: 400 }, (_, index) => `w${index}`).join(" ");
    stage.ai.replyWith(answerWith(long));
    const content = async (body: Json) =>
      (
        (await (await stage.chat(body)).json()) as {
          choices: { message: { content: string }; finish_reason: string }[];
        }
      ).choices[0];
    expect(await content({})).toMatchObject({ message: { content: long }, finish_reason: "stop" });
    expect(await content({ model: "chat@2", max_tokens: null })).toMatchObject({ message: { content: long } });
    expect(await content({ max_tokens: 10 })).toMatchObject({ finish_reason: "length" });
    expect(await content({ max_completion_tokens: 10 })).toMatchObject({ finish_reason: "length" });
    for (const cap of [0, -1, "50"]) {
      const refused = await stage.chat({ max_tokens: cap });
      expect([refused.status, (await errorOf(refused)).param]).toEqual([400, "max_tokens"]);
    }
  });

  it("hands on what a client may ask of an answer, and gives back all that came, whole and streamed", async () => {
    const stage = new Stage();
    const asked = {
      n: 2,
      seed: 7,
      stop: ["x"],
      logprobs: true,
      top_logprobs: 1,
      response_format: { type: "json_object" },
      reasoning_effort: "low",
      tools: [{ type: "function", function: { name: "f", parameters: {} } }],
      tool_choice: "auto",
      parallel_tool_calls: false,
    };
    const logprobs = { content: [{ token: "a", logprob: -0.1, top_logprobs: [] }] };
    const said = [
      { content: "a", reasoning: "because" },
      { content: "b", reasoning_content: "so" },
    ];
    stage.ai.replyWith(({ inputs }) => {
      const whole = said.map((message, index) => ({ index, message, logprobs, finish_reason: "stop" }));
      if (inputs.stream !== true) return Response.json({ choices: whole });
      const piece = (choice: Json) => JSON.stringify({ choices: [choice] });
      return sse([
        ...said.map((delta, index) => piece({ index, delta, logprobs, finish_reason: null })),
        ...said.map((_, index) => piece({ index, delta: {}, finish_reason: "stop" })),
        "[DONE]",
      ]);
    });
    const { choices } = (await (await stage.chat(asked)).json()) as { choices: Json[] };
    expect(choices).toEqual(
      said.map((message, index) => ({
        index,
        message: { role: "assistant", ...message },
        logprobs,
        finish_reason: "stop",
      })),
    );
    expect(stage.ai.lastRun.inputs).toMatchObject(asked);
    const events = await eventsOf(await stage.chat({ ...asked, stream: true }));
    const pieces = events.slice(0, -1).map((event) => (event.choices as Json[])[0]);
    expect(pieces.slice(0, 2)).toEqual(
      said.map((delta, index) => ({ index, delta: { role: "assistant", ...delta }, logprobs, finish_reason: null })),
    );
    expect(pieces.slice(2).map((choice) => [choice?.index, choice?.finish_reason])).toEqual([
      [0, "stop"],
      [1, "stop"],
    ]);
  });

  it("puts the version's own prompt before the client's messages, its system message included", async () => {
    const stage = new Stage();
    const messages = [
      { role: "system", content: "Client's rules." },
      { role: "user", content: "Hi" },
    ];
    await stage.chat({ model: "chat@2", messages });
    expect(stage.ai.lastRun.inputs.messages).toEqual([
      { role: "system", content: "You are version two." },
      ...messages,
    ]);
    expect(stage.ai.lastRun.model).toBe("@cf/moonshotai/kimi-k2.6");
  });

  it("wr_08 brings a prompt to the model byte for byte, whatever is in it", async () => {
    const nasty =
      // biome-ignore lint/suspicious/noTemplateCurlyInString: text that must stay as it is
      'He said "hi" `id` ${env.API_KEY} {{ 7*7 }} {% raw %} </script> \u2028 \u0000 \r\n 北京🦊 and a final backslash \\';
    const models = {
      chat: {
        task: "chat",
        versions: { "1": { backend: "workers-ai", id: "@cf/x", prompt: nasty } },
        split: [[1, 100]],
      },
    };
    const stage = new Stage({ models });
    await stage.chat();
    expect(stage.ai.lastRun.inputs.messages).toEqual([
      { role: "system", content: nasty },
      { role: "user", content: "Hi" },
    ]);
  });

  it("keeps a user on one version, and users apart", async () => {
    const stage = new Stage();
    const versionFor = async (user: string) =>
      (await stage.chat({ model: "chat", user })).headers.get("x-sluiceway-model");
    const seen = new Set<string | null>();
    for (let index = 0; index < 40; index++) {
      const version = await versionFor(`user-${index}`);
      expect(await versionFor(`user-${index}`)).toBe(version);
      seen.add(version);
    }
    expect(seen).toEqual(new Set(["chat@1", "chat@2"]));
  });

  it("takes the user from a header when the body names none", async () => {
    const stage = new Stage();
    const model = async (user: object, headers = {}) =>
      (await stage.chat({ model: "chat", ...user }, headers)).headers.get("x-sluiceway-model");
    for (let index = 0; index < 30; index++) {
      expect(await model({}, { "x-sluiceway-user": `u${index}` })).toBe(await model({ user: `u${index}` }));
    }
  });

  it.each([
    ["an unknown model", { model: "gpt-9" }, 404, "model_not_found", "model"],
    ["an unknown version", { model: "chat@7" }, 404, "model_not_found", "model"],
    ["no model", { model: undefined }, 400, "invalid_request", "model"],
    ["no messages", { messages: undefined }, 400, "invalid_request", "messages"],
    ["stream that is no flag", { stream: "yes" }, 400, "invalid_request", "stream"],
    ["a user that is no text", { user: 7 }, 400, "invalid_request", "user"],
    [
      "an image",
      { messages: [{ role: "user", content: [{ type: "image_url" }] }] },
      400,
      "invalid_request",
      "messages[0].content[0]",
    ],
  ])("refuses %s, naming the field", async (_, body, status, code, param) => {
    const response = await new Stage().chat(body);
    expect(response.status).toBe(status);
    expect(await errorOf(response)).toMatchObject({ type: "invalid_request_error", code, param });
  });

  it("says honestly that a backend is not served here", async () => {
    const response = await new Stage().chat({ model: "intent" });
    expect(response.status).toBe(501);
    expect(await errorOf(response)).toMatchObject({
      code: "backend_not_served",
      message: expect.stringContaining("`onnx`"),
    });
  });

  it("answers 405 to other methods", async () => {
    const response = await new Stage().ask({ path: PATH });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
  });
});
