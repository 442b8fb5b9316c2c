import { describe, expect, inject, it } from "vitest";
import { type AiRun, answerWith, sse } from "../../test/support/fake-ai.ts";
import { mutated } from "../../test/support/hostile.ts";
import { random } from "../../test/support/random.ts";
import { Stage, stageConfig } from "../../test/support/stage.ts";

type Json = Record<string, unknown>;
/** Enough to meet each field with each odd value; a conversation that is kept costs an object each time. */
const TURNS_EACH = inject("long") ? 100 : 25;
const CALL = { type: "function_call", call_id: "c1", name: "f", arguments: "{}" };
const TURNS = [
  { role: "system", content: "s" },
  { role: "user", content: [{ type: "text", text: "a" }] },
];

/** A good request of each endpoint, with every kind of field. */
const REQUESTS: [path: string, body: Json][] = [
  ["/", { prompt: "a", history: TURNS, max_tokens: 5, temperature: 0, user: "u", conversation: "c" }],
  ["/", { messages: TURNS, stream: true, conversation: { id: "c" } }],
  ["/v1/completions", { model: "chat@1", prompt: ["a", "b"], n: 2, echo: true, stop: ["x"], best_of: 2, suffix: "" }],
  [
    "/v1/completions",
    { model: "chat@1", prompt: "a", logprobs: 2, stream: true, stream_options: { include_usage: true } },
  ],
  ["/v1/embeddings", { model: "embed", input: ["a", "b"], encoding_format: "base64", dimensions: 3, user: "u" }],
  [
    "/v1/responses",
    {
      model: "chat@1",
      input: [
        { type: "message", role: "user", content: [{ type: "input_text", text: "a" }] },
        { type: "reasoning", id: "r", summary: [] },
        { role: "assistant", content: [{ type: "output_text", text: "b" }] },
        CALL,
        { type: "function_call_output", call_id: "c1", output: "42" },
      ],
      instructions: "i",
      tools: [{ type: "function", name: "f", parameters: {}, strict: true }],
      tool_choice: { type: "function", name: "f" },
      text: { format: { type: "json_schema", name: "n", schema: {} } },
      reasoning: { effort: "low" },
      metadata: { a: "b" },
      include: ["message.output_text.logprobs"],
    },
  ],
  ["/v1/responses", { model: "chat@1", input: "a", stream: true, conversation: { id: "c" }, store: true, user: "u" }],
];

function stageWithAll(): Stage {
  const versions = { "1": { backend: "workers-ai", id: "@cf/baai/bge-m3" } };
  const models = { ...(stageConfig().models as Json), embed: { task: "embed", versions, split: [[1, 100]] } };
  const stage = new Stage({
    models,
    conversations: { enabled: true, window_tokens: 200 },
    resilience: { attempts: 1, breaker: { failures: 1_000_000 } },
  });
  stage.ai.replyWith(answers);
  return stage;
}

function answers(run: AiRun): Response | Promise<Response> {
  const { text } = run.inputs;
  if (Array.isArray(text)) return Response.json({ data: text.map(() => [1, 2, 3]) });
  return answerWith("Hello.")(run);
}

const faultsOf = (stage: Stage) =>
  stage.logs.filter(({ event, error }) => event === "exception" || error === "internal_error");

describe("hostile input", () => {
  it.each(REQUESTS)("from a client of %s is served or refused, in its own fault's name", async (path, request) => {
    const stage = stageWithAll();
    expect((await stage.ask({ path, body: request })).status).toBe(200);
    const next = random(path.length + JSON.stringify(request).length);
    for (let turn = 0; turn < TURNS_EACH; turn++) {
      let body = mutated(request, next);
      if (next() < 0.5) body = mutated(body, next);
      const response = await stage.ask({ path, body: JSON.stringify(body) });
      expect({ body, status: response.status, faults: faultsOf(stage) }).toMatchObject({
        status: expect.toBeOneOf([200, 400, 404]),
        faults: [],
      });
    }
  });

  it.each(["/", "/v1/completions", "/v1/responses"])(
    "from a model is passed on by %s or called the model's failure",
    async (path) => {
      const stage = stageWithAll();
      const next = random(path.length);
      const call = { index: 0, id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
      const said = { content: "a", reasoning: "b", refusal: "c", tool_calls: [call] };
      const logprobs = { content: [{ token: "a", logprob: -1, top_logprobs: [{ token: "a", logprob: -1 }] }] };
      const usage = {
        prompt_tokens: 1,
        completion_tokens: 1,
        total_tokens: 2,
        prompt_tokens_details: { cached_tokens: 1 },
      };
      for (let turn = 0; turn < TURNS_EACH; turn++) {
        const stream = next() < 0.5;
        const rest = { index: 0, logprobs, finish_reason: "stop" };
        const choice = stream ? { delta: said, ...rest } : { message: { role: "assistant", ...said }, ...rest };
        const sent = mutated({ choices: [choice], usage }, next);
        stage.ai.replyWith(() => (stream ? sse([JSON.stringify(sent), "[DONE]"]) : Response.json(sent)));
        const body = {
          model: "chat@1",
          prompt: path === "/v1/responses" ? undefined : "a",
          input: "a",
          stream,
          store: false,
        };
        const response = await stage.ask({ path, body });
        expect({ sent, status: response.status, faults: faultsOf(stage) }).toMatchObject({
          status: expect.toBeOneOf([200, 502]),
          faults: [],
        });
      }
    },
  );
});
