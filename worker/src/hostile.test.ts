import { describe, expect, inject, it } from "vitest";
import { sse } from "../test/support/fake-ai.ts";
import { mutated } from "../test/support/hostile.ts";
import { random } from "../test/support/random.ts";
import { chatBody, Stage } from "../test/support/stage.ts";

const CALL = { id: "c1", type: "function", function: { name: "f", arguments: "{}" } };
const REQUEST = chatBody({
  messages: [
    { role: "system", content: "s" },
    { role: "user", content: [{ type: "text", text: "a" }] },
    { role: "assistant", content: null, tool_calls: [CALL] },
    { role: "tool", tool_call_id: "c1", content: "42" },
  ],
  temperature: 0,
  max_tokens: 10,
  stop: ["x"],
  tools: [{ type: "function", function: { name: "f", parameters: {} } }],
  stream_options: { include_usage: true },
  user: "u",
});
const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const WHOLE = {
  choices: [{ index: 0, message: { role: "assistant", content: "a", tool_calls: [CALL] }, finish_reason: "stop" }],
  usage: USAGE,
};
const PIECE = {
  choices: [{ index: 0, delta: { content: "a", tool_calls: [{ index: 0, ...CALL }] }, finish_reason: "stop" }],
  usage: USAGE,
};

const TURNS = inject("long") ? 600 : 50;
/** So many take a while on a busy machine. */
const PATIENCE = { timeout: 180_000 };

describe("hostile input", () => {
  it("from a client is answered or refused, never a failure of ours", PATIENCE, async () => {
    const stage = new Stage();
    const next = random(1);
    for (let turn = 0; turn < TURNS; turn++) {
      let body = mutated(REQUEST, next);
      if (next() < 0.5) body = mutated(body, next);
      const response = await stage.ask({ path: "/v1/chat/completions", body: JSON.stringify(body) });
      const failed = stage.logs.filter((line) => line.event === "exception");
      expect({ body, status: response.status, failed }).toMatchObject({
        status: expect.toBeOneOf([200, 400, 404]),
        failed: [],
      });
    }
  });

  it("from a model is passed on or called a failure of the model", PATIENCE, async () => {
    // So many bad answers would be tried again, and then open the circuit.
    const stage = new Stage({ resilience: { attempts: 1, breaker: { failures: 1_000_000 } } });
    const next = random(2);
    for (let turn = 0; turn < TURNS; turn++) {
      const stream = next() < 0.5;
      const sent = mutated(stream ? PIECE : WHOLE, next);
      stage.ai.replyWith(() => (stream ? sse([JSON.stringify(sent), "[DONE]"]) : Response.json(sent)));
      const response = await stage.chat({ stream });
      const failed = stage.logs.filter((line) => line.event === "exception" || line.error === "internal_error");
      expect({ sent, status: response.status, failed }).toMatchObject({
        status: expect.toBeOneOf([200, 502]),
        failed: [],
      });
    }
  });
});
