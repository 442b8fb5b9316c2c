import { describe, expect, it } from "vitest";
import { refuse } from "../../test/support/fake-ai.ts";
import { errorOf, Stage, stageConfig } from "../../test/support/stage.ts";
import type { ModelVersion } from "../config.ts";
import { checkWindow } from "./window.ts";

const WINDOW: ModelVersion = { backend: "workers-ai", id: "@cf/test/small", context_window: 100 };

/** A stage whose one chat version has a window of 100 tokens. */
function narrow(): Stage {
  const chat = { task: "chat", default: true, versions: { "1": WINDOW }, split: [[1, 100]] };
  return new Stage({ ...stageConfig(), models: { chat } });
}

const asked = (content: string) => ({ messages: [{ role: "user", content }] });

describe("checkWindow", () => {
  it.each([
    ["Chinese", "你好世界".repeat(50)],
    ["Korean", "안녕하세요".repeat(40)],
    ["emoji", "🦊".repeat(100)],
  ])("gw_13 refuses %s that is too long before anything is asked of the backend", async (_, content) => {
    const stage = narrow();
    const response = await stage.chat(asked(content));
    expect(response.status).toBe(400);
    const error = await errorOf(response);
    expect(error).toMatchObject({ code: "context_length_exceeded", param: "messages", type: "invalid_request_error" });
    expect(error.message).toMatch(/100 tokens.*about 1\d\d|100 tokens.*about 2\d\d/);
    expect(stage.ai.runs).toEqual([]);
  });

  it("gw_13 lets 300 Latin letters through, as one word and as many", async () => {
    const stage = narrow();
    expect((await stage.chat(asked("a".repeat(300)))).status).toBe(200);
    expect((await stage.chat(asked("planning ".repeat(34).trim()))).status).toBe(200);
    expect(stage.ai.runs).toHaveLength(2);
  });

  it("gw_13 counts tool calls, the results of tools, declared tools and pictures too", () => {
    const long = "planning ".repeat(120);
    const call = { id: "c1", type: "function", function: { name: "f", arguments: JSON.stringify({ text: long }) } };
    const fits = { role: "user" as const, content: "Hi" };
    expect(() => checkWindow(WINDOW, [{ role: "assistant", content: null, tool_calls: [call] }], 10)).toThrow("100");
    expect(() => checkWindow(WINDOW, [{ role: "tool", content: long, tool_call_id: "c1" }], 10)).toThrow("100");
    expect(() => checkWindow(WINDOW, [fits], 10, [{ function: { name: "f", description: long } }])).toThrow("100");
    const picture = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    expect(() => checkWindow(WINDOW, [{ role: "user", content: [picture] }], 10)).toThrow("100");
    expect(checkWindow(WINDOW, [fits], 10)).toBe(10);
  });

  it("gw_13 tells a client of a backend that refused the prompt by 413 the same, and asks it once", async () => {
    const stage = new Stage();
    stage.ai.replyWith(refuse(413, 3006, "Request is too large"));
    for (const stream of [false, true]) {
      const response = await stage.chat({ stream });
      expect(response.status).toBe(400);
      expect((await errorOf(response)).code).toBe("context_length_exceeded");
    }
    expect(stage.ai.runs).toHaveLength(2);
  });

  it("tells how much of the asked answer the window leaves", () => {
    const room = checkWindow(WINDOW, [{ role: "user", content: "Hi" }], 2048);
    expect(room).toBeGreaterThan(90);
    expect(room).toBeLessThan(100);
  });

  it("asks nothing of a version whose window is not known", () => {
    const { context_window: _, ...unknown } = WINDOW;
    expect(checkWindow(unknown, [{ role: "user", content: "你".repeat(10_000) }], 5)).toBe(5);
  });
});
