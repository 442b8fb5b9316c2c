import { describe, expect, it } from "vitest";
import { answerWith } from "../../test/support/fake-ai.ts";
import { eventsOf, Stage, textOfEvents } from "../../test/support/stage.ts";

describe("POST /v1/chat/completions", () => {
  it("answers in OpenAI's shape", async () => {
    const stage = new Stage();
    const response = await stage.chat();
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      object: "chat.completion",
      model: "chat@1",
      choices: [{ index: 0, message: { role: "assistant", content: "Hello from the model." }, finish_reason: "stop" }],
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
});
