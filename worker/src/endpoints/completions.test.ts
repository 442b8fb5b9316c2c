import { describe, expect, it } from "vitest";
import { answerWith, delta, sse } from "../../test/support/fake-ai.ts";
import { errorOf, eventsOf, Stage } from "../../test/support/stage.ts";

type Json = Record<string, unknown>;
const PATH = "/v1/completions";
const ask = (stage: Stage, body: Json) => stage.ask({ path: PATH, body: { model: "chat@1", prompt: "Hi", ...body } });
const choicesOf = async (response: Response) => ((await response.json()) as { choices: Json[] }).choices;

describe("POST /v1/completions", () => {
  it("answers in OpenAI's shape, by a chat model", async () => {
    const stage = new Stage();
    const response = await ask(stage, { max_tokens: 50, stop: ["x"], tools: [{ type: "function" }], x: 1 });
    expect(await response.json()).toEqual({
      id: "cmpl-req-test-1",
      object: "text_completion",
      created: expect.any(Number),
      model: "chat@1",
      system_fingerprint: "r-0123456789ab",
      choices: [{ index: 0, text: "Hello from the model.", logprobs: null, finish_reason: "stop" }],
      usage: { prompt_tokens: 7, completion_tokens: 4, total_tokens: 11 },
    });
    const { messages, ...parameters } = stage.ai.lastRun.inputs;
    expect(messages).toEqual([{ role: "user", content: "Hi" }]);
    expect(parameters).toEqual({ max_tokens: 50, stop: ["x"] });
  });

  it("answers each of several prompts, and counts them together", async () => {
    const stage = new Stage();
    stage.ai.replyWith((run) => {
      const [{ content }] = run.inputs.messages as [{ content: string }];
      return answerWith(`to ${content}`)(run);
    });
    const response = await ask(stage, { prompt: ["one", "two"], echo: true });
    const body = (await response.json()) as { choices: Json[]; usage: Json };
    expect(body.choices.map(({ index, text }) => [index, text])).toEqual([
      [0, "oneto one"],
      [1, "twoto two"],
    ]);
    expect(body.usage).toEqual({ prompt_tokens: 14, completion_tokens: 4, total_tokens: 18 });
    expect(stage.requestLogs).toMatchObject([{ prompt_tokens: 14, completion_tokens: 4 }]);
  });

  it("numbers the choices of several prompts with several choices each", async () => {
    const stage = new Stage();
    stage.ai.replyWith(() =>
      Response.json({
        choices: [0, 1].map((index) => ({ index, message: { content: `c${index}` }, finish_reason: "stop" })),
      }),
    );
    const choices = await choicesOf(await ask(stage, { prompt: ["one", "two"], n: 2 }));
    expect(choices.map(({ index, text }) => `${index}${text}`)).toEqual(["0c0", "1c1", "2c0", "3c1"]);
    expect(stage.ai.lastRun.inputs.n).toBe(2);
  });

  it("says the same streamed, echo included, with usage when asked for", async () => {
    const stage = new Stage();
    stage.ai.replyWith(answerWith("北京 is far."));
    const events = await eventsOf(
      await ask(stage, { stream: true, echo: true, prompt: "Where? ", stream_options: { include_usage: true } }),
    );
    expect(events.at(-1)).toEqual({ done: true });
    expect(events.at(-2)).toMatchObject({ choices: [], usage: { total_tokens: 10 } });
    const choices = events.slice(0, -2).flatMap((event) => event.choices as { text: string; finish_reason: unknown }[]);
    expect(choices.map(({ text }) => text).join("")).toBe("Where? 北京 is far.");
    expect(choices.map((choice) => choice.finish_reason).filter(Boolean)).toEqual(["stop"]);
    for (const event of events.slice(0, -1)) {
      expect(event).toMatchObject({ id: "cmpl-req-test-1", object: "text_completion" });
    }
  });

  it("gives logprobs in the older form, streamed and not", async () => {
    const stage = new Stage();
    const token = (text: string) => ({ token: text, logprob: -0.5, top_logprobs: [{ token: text, logprob: -0.5 }] });
    stage.ai.replyWith(() =>
      Response.json({
        choices: [
          {
            index: 0,
            message: { content: "ab c" },
            finish_reason: "stop",
            logprobs: { content: [token("ab"), token(" c")] },
          },
        ],
      }),
    );
    const [whole] = await choicesOf(await ask(stage, { logprobs: 1 }));
    expect(whole?.logprobs).toEqual({
      tokens: ["ab", " c"],
      token_logprobs: [-0.5, -0.5],
      top_logprobs: [{ ab: -0.5 }, { " c": -0.5 }],
      text_offset: [0, 2],
    });
    expect(stage.ai.lastRun.inputs).toMatchObject({ logprobs: true, top_logprobs: 1 });
    const piece = (text: string) =>
      JSON.stringify({
        choices: [{ index: 0, delta: { content: text }, logprobs: { content: [token(text)] }, finish_reason: null }],
      });
    stage.ai.replyWith(() => sse([piece("ab"), piece(" c"), "[DONE]"]));
    const events = await eventsOf(await ask(stage, { logprobs: 1, stream: true }));
    const offsets = events.flatMap(
      ({ choices }) => (choices ?? []) as { logprobs: { text_offset: number[] } | null }[],
    );
    expect(offsets.flatMap(({ logprobs }) => logprobs?.text_offset ?? [])).toEqual([0, 2]);
  });

  it("ends a stream that breaks with one error event", async () => {
    const stage = new Stage();
    stage.ai.replyWith(() => sse([delta("half")]));
    const events = await eventsOf(await ask(stage, { stream: true }));
    expect(events.at(-1)).toMatchObject({ error: { code: "upstream_broken" } });
  });

  it.each([
    [{ prompt: undefined }, "prompt"],
    [{ prompt: "" }, "prompt"],
    [{ prompt: [] }, "prompt"],
    [{ prompt: [1, 2] }, "prompt"],
    [{ prompt: [[1, 2]] }, "prompt"],
    [{ prompt: ["a", 2] }, "prompt[1]"],
    [{ prompt: ["a", ""] }, "prompt[1]"],
    [{ prompt: {} }, "prompt"],
    [{ prompt: Array(21).fill("a") }, "prompt"],
    [{ prompt: ["a", "b"], stream: true }, "prompt"],
    [{ suffix: "end" }, "suffix"],
    [{ best_of: 3 }, "best_of"],
    [{ conversation: "c" }, "conversation"],
    [{ echo: "yes" }, "echo"],
    [{ logprobs: true }, "logprobs"],
    [{ logprobs: 6 }, "logprobs"],
    [{ logprobs: 1, echo: true }, "logprobs"],
    [{ n: 0 }, "n"],
    [{ model: undefined }, "model"],
    [{ prompt: "1".repeat(200) }, "prompt"],
    [{ prompt: "1".repeat(200), stream: true }, "prompt"],
    [{ prompt: ["1".repeat(200), "b"] }, "prompt[0]"],
  ])("refuses %j, naming the field", async (body, param) => {
    const stage = new Stage({ guard: { max_characters: 150 } });
    const response = await ask(stage, body);
    expect([response.status, (await errorOf(response)).param]).toEqual([400, param]);
    expect(stage.ai.runs).toEqual([]);
  });

  it("takes what changes nothing", async () => {
    const body = { suffix: null, best_of: 1, echo: null, logprobs: null, prompt: ["Hi"] };
    expect((await ask(new Stage(), body)).status).toBe(200);
  });

  it("answers 405 to other methods", async () => {
    const response = await new Stage().ask({ path: PATH });
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
  });
});
