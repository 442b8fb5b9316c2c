import { SELF } from "cloudflare:test";
import OpenAI from "openai";
import { beforeEach, describe, expect, it } from "vitest";
import { type AiRun, answerWith, delta, refuse, sse, streamOf } from "../../test/support/fake-ai.ts";
import { served } from "../../test/support/main.ts";
import { KEY, Stage, stageConfig } from "../../test/support/stage.ts";

const MESSAGES = [{ role: "user" as const, content: "Hi" }];
const CALL = { id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"北京"}' } };
const WEATHER = { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } };
const CONFIG = {
  models: {
    ...(stageConfig().models as Record<string, unknown>),
    embed: { task: "embed", versions: { "1": { backend: "workers-ai", id: "@cf/baai/bge-m3" } }, split: [[1, 100]] },
  },
  conversations: { enabled: true },
  resilience: { attempts: 1 },
};

function client(apiKey = KEY): OpenAI {
  const fetch = (input: RequestInfo | URL, init?: RequestInit) => SELF.fetch(input as RequestInfo, init);
  return new OpenAI({
    apiKey,
    baseURL: "https://gateway.test/v1",
    fetch: fetch as typeof globalThis.fetch,
    maxRetries: 0,
  });
}

/** Calls a tool when the last message is a user's, in parts when it is asked to stream; else tells what the tool said. */
function callsWeather(run: AiRun): Response | Promise<Response> {
  const last = (run.inputs.messages as { role: string; content: string }[]).at(-1);
  if (last?.role === "tool") return answerWith(`It is ${last.content}.`)(run);
  const choice = (fields: object, finish_reason: string | null) => ({
    choices: [{ index: 0, ...fields, finish_reason }],
  });
  if (run.inputs.stream !== true) {
    return Response.json(choice({ message: { content: null, tool_calls: [CALL] } }, "tool_calls"));
  }
  const part = (call: object) => choice({ delta: { tool_calls: [{ index: 0, ...call }] } }, null);
  const { name, arguments: text } = CALL.function;
  const parts = [
    part({ id: "c1", type: "function", function: { name, arguments: "" } }),
    ...[text.slice(0, 5), text.slice(5)].map((piece) => part({ function: { arguments: piece } })),
    choice({ delta: {} }, "tool_calls"),
  ];
  return sse([...parts.map((event) => JSON.stringify(event)), "[DONE]"]);
}

describe("the official OpenAI client", () => {
  let stage = new Stage(CONFIG);

  beforeEach(() => {
    stage = new Stage(CONFIG);
    served.stage = stage;
    stage.ai.replyWith(answerWith("北京 is far 🦊."));
  });

  describe("chat", () => {
    it("gets the same answer streamed and not", async () => {
      const whole = await client().chat.completions.create({ model: "chat", messages: MESSAGES });
      const stream = await client().chat.completions.create({
        model: "chat",
        messages: MESSAGES,
        stream: true,
        stream_options: { include_usage: true },
      });
      let text = "";
      let usage = null;
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? "";
        usage = chunk.usage ?? usage;
      }
      expect(text).toBe(whole.choices[0]?.message.content);
      expect(usage).toEqual(whole.usage);
      expect(whole._request_id).toBe("req-test-1");
    });

    it("reads its own stream helper's final message", async () => {
      const run = client().chat.completions.stream({ model: "chat@1", messages: MESSAGES });
      expect((await run.finalMessage()).content).toBe("北京 is far 🦊.");
    });

    it("runs its tools to the end, streamed and not", async () => {
      stage.ai.replyWith(callsWeather);
      const cities: unknown[] = [];
      const run = async (city: string) => {
        cities.push((JSON.parse(city) as { city: string }).city);
        return "cold";
      };
      const tools = [{ type: "function" as const, function: { ...WEATHER, description: "d", function: run } }];
      const asked = { model: "chat@1", messages: MESSAGES, tools };
      expect(await client().chat.completions.runTools(asked).finalContent()).toBe("It is cold.");
      expect(
        await client()
          .chat.completions.runTools({ ...asked, stream: true })
          .finalContent(),
      ).toBe("It is cold.");
      expect(cities).toEqual(["北京", "北京"]);
    });

    it("parses an answer that keeps to a schema", async () => {
      stage.ai.replyWith(answerWith('{"city":"北京"}'));
      const schema = { type: "object", properties: { city: { type: "string" } } };
      const answer = await client().chat.completions.parse({
        model: "chat@1",
        messages: MESSAGES,
        response_format: { type: "json_schema", json_schema: { name: "place", schema, strict: true } },
      });
      expect(answer.choices[0]?.message.content).toBe('{"city":"北京"}');
      expect(stage.ai.lastRun.inputs.response_format).toMatchObject({ type: "json_schema" });
    });

    it("stops the model when it stops reading", async () => {
      const words = Array.from({ length: 5_000 }, (_, index) => `w${index}`).join(" ");
      stage.ai.replyWith(answerWith(words));
      const stream = await client().chat.completions.create({
        model: "chat@1",
        messages: MESSAGES,
        stream: true,
        max_tokens: 5_000,
      });
      for await (const chunk of stream) {
        if (chunk.choices[0]?.delta.content) break;
      }
      await expect.poll(() => stage.ai.lastRun.aborted, { timeout: 3_000 }).toBe(true);
      await expect.poll(() => stage.requestLogs[0]?.error).toBe("client_disconnected");
    });
  });

  describe("completions", () => {
    it("gets the same text streamed and not", async () => {
      const whole = await client().completions.create({ model: "chat@1", prompt: "Hi" });
      const stream = await client().completions.create({ model: "chat@1", prompt: "Hi", stream: true });
      let text = "";
      for await (const chunk of stream) text += chunk.choices[0]?.text ?? "";
      expect(text).toBe(whole.choices[0]?.text);
      expect(text).toBe("北京 is far 🦊.");
    });
  });

  describe("embeddings", () => {
    it("reads numbers, which travel as base64 unless it is told otherwise", async () => {
      stage.ai.replyWith((run) =>
        Response.json({ data: (run.inputs.text as string[]).map((text) => [text.length, 0.5, -1.25]) }),
      );
      const asked = { model: "embed", input: ["Hi", "hello"] };
      const [packed, plain] = [
        await client().embeddings.create(asked),
        await client().embeddings.create({ ...asked, encoding_format: "float" }),
      ];
      const numbers = ({ data }: typeof packed) => data.map(({ embedding }) => [...embedding]);
      expect(numbers(packed)).toEqual(numbers(plain));
      expect(numbers(plain)).toEqual([
        [2, 0.5, -1.25],
        [5, 0.5, -1.25],
      ]);
    });
  });

  describe("responses", () => {
    it("gets the same answer streamed and not, and checks the order of the events itself", async () => {
      const whole = await client().responses.create({ model: "chat@1", input: "Hi" });
      const stream = client().responses.stream({ model: "chat@1", input: "Hi" });
      let text = "";
      stream.on("response.output_text.delta", ({ delta: more }) => {
        text += more;
      });
      const final = await stream.finalResponse();
      expect([text, final.output_text]).toEqual([whole.output_text, "北京 is far 🦊."]);
      expect(final.usage).toEqual(whole.usage);
    });

    it("streams thoughts, words and crossing calls without its client's complaint", async () => {
      const part = (fields: object, reason: string | null = null) =>
        JSON.stringify({ choices: [{ index: 0, delta: fields, finish_reason: reason }] });
      const calling = (index: number, fields: object) => part({ tool_calls: [{ index, ...fields }] });
      stage.ai.replyWith(() =>
        sse([
          part({ reasoning: "hm" }),
          part({ reasoning: ", well" }),
          part({ content: "Let me see." }),
          calling(0, { id: "a", type: "function", function: { name: "f", arguments: "" } }),
          calling(1, { id: "b", type: "function", function: { name: "g", arguments: "{}" } }),
          calling(0, { function: { arguments: '{"x":1}' } }),
          part({}, "tool_calls"),
          "[DONE]",
        ]),
      );
      const final = await client().responses.stream({ model: "chat@1", input: "Hi" }).finalResponse();
      expect(final.output.map(({ type }) => type)).toEqual(["reasoning", "message", "function_call", "function_call"]);
      expect(final.output_text).toBe("Let me see.");
      expect(final.output[2]).toMatchObject({ name: "f", arguments: '{"x":1}', call_id: "a" });
    });

    it("calls a function and goes on from the response that asked for it", async () => {
      stage.ai.replyWith(callsWeather);
      const tools = [{ type: "function" as const, strict: null, ...WEATHER }];
      const first = await client().responses.create({ model: "chat@1", input: "Weather?", tools });
      const [call] = first.output;
      if (call?.type !== "function_call") throw new Error("no function was called");
      expect(call).toMatchObject({ name: "weather", arguments: '{"city":"北京"}' });
      const second = await client().responses.create({
        model: "chat@1",
        previous_response_id: first.id,
        input: [{ type: "function_call_output", call_id: call.call_id, output: "cold" }],
        tools,
      });
      expect(second.output_text).toBe("It is cold.");
      expect((stage.ai.lastRun.inputs.messages as { role: string }[]).map(({ role }) => role)).toEqual([
        "user",
        "assistant",
        "tool",
      ]);
    });

    it("raises an error for a stream that breaks", async () => {
      stage.ai.replyWith(() => sse([delta("half")]));
      const stream = await client().responses.create({ model: "chat@1", input: "Hi", stream: true });
      const read = async () => {
        for await (const _ of stream);
      };
      await expect(read()).rejects.toMatchObject({
        code: "upstream_broken",
        message: expect.stringMatching(/broke off/),
      });
    });
  });

  it("lists and finds models", async () => {
    const ids: string[] = [];
    for await (const model of client().models.list()) ids.push(model.id);
    expect(ids).toEqual(["chat", "intent", "embed"]);
    expect((await client().models.retrieve("chat@2")).id).toBe("chat@2");
  });

  describe("errors", () => {
    it("raises its own errors for ours", async () => {
      const create = (apiKey: string, model: string) =>
        client(apiKey).chat.completions.create({ model, messages: MESSAGES });
      await expect(create("wrong", "chat")).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
      await expect(create(KEY, "gpt-9")).rejects.toMatchObject({ status: 404, code: "model_not_found" });
      await expect(client().embeddings.create({ model: "embed", input: "" })).rejects.toMatchObject({
        status: 400,
        param: "input",
      });
      stage.ai.replyWith(refuse(429, 3040, "busy"));
      await expect(create(KEY, "chat")).rejects.toBeInstanceOf(OpenAI.RateLimitError);
    });

    it("raises one for a stream that breaks, after the text that came", async () => {
      const bytes = new TextEncoder().encode(`data: ${delta("half")}\n\n`);
      stage.ai.replyWith(() => streamOf([bytes], new Error("reset")));
      const stream = await client().chat.completions.create({ model: "chat@1", messages: MESSAGES, stream: true });
      let text = "";
      const read = async () => {
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
      };
      await expect(read()).rejects.toThrow(/broke off/);
      expect(text).toBe("half");
    });
  });
});
