import { expect, it } from "vitest";
import { estimateTokens, estimateUsage } from "./estimate.ts";

it("counts a wide character as a token, and four others", () => {
  expect(estimateTokens("北京欢迎你")).toBe(5);
  expect(estimateTokens("twelve chars")).toBe(3);
  expect(estimateTokens("")).toBe(0);
});

it("says that it is an estimate, and counts reasoning and tool calls too", () => {
  const message = { role: "assistant" as const, content: null, reasoning: "x".repeat(40), tool_calls: [{ id: "c" }] };
  const usage = estimateUsage([{ role: "user", content: "x".repeat(40) }], {
    choices: [{ index: 0, message, finish_reason: "stop" }],
    usage: null,
  });
  expect(usage).toMatchObject({ prompt_tokens: 14, estimated: true });
  expect(usage.completion_tokens).toBeGreaterThan(10);
  expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
});
