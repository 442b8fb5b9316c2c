import { SELF } from "cloudflare:test";
import OpenAI from "openai";
import { beforeEach, describe, expect, it } from "vitest";
import { answerWith, delta, refuse, streamOf } from "../../test/support/fake-ai.ts";
import { served } from "../../test/support/main.ts";
import { KEY, Stage } from "../../test/support/stage.ts";

const MESSAGES = [{ role: "user" as const, content: "Hi" }];

function client(apiKey = KEY): OpenAI {
  const fetch = (input: RequestInfo | URL, init?: RequestInit) => SELF.fetch(input as RequestInfo, init);
  return new OpenAI({
    apiKey,
    baseURL: "https://gateway.test/v1",
    fetch: fetch as typeof globalThis.fetch,
    maxRetries: 0,
  });
}

describe("the official OpenAI client", () => {
  let stage = new Stage();

  beforeEach(() => {
    stage = new Stage();
    served.stage = stage;
    stage.ai.replyWith(answerWith("北京 is far 🦊."));
  });

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

  it("lists and finds models", async () => {
    const ids: string[] = [];
    for await (const model of client().models.list()) ids.push(model.id);
    expect(ids).toEqual(["chat", "intent"]);
    expect((await client().models.retrieve("chat@2")).id).toBe("chat@2");
  });

  it("raises its own errors for ours", async () => {
    const create = (apiKey: string, model: string) =>
      client(apiKey).chat.completions.create({ model, messages: MESSAGES });
    await expect(create("wrong", "chat")).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
    await expect(create(KEY, "gpt-9")).rejects.toMatchObject({ status: 404, code: "model_not_found" });
    stage.ai.replyWith(refuse(429, 3040, "busy"));
    await expect(create(KEY, "chat")).rejects.toBeInstanceOf(OpenAI.RateLimitError);
  });

  it("raises an error for a stream that breaks, after the text that came", async () => {
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
