import { describe, expect, it } from "vitest";
import contract from "../../../tests/contract/tokens.json";
import { growth, QUADRATIC } from "../../test/support/growth.ts";
import { some } from "../../test/support/some.ts";
import { estimateMessage, estimateTokens, estimateUsage } from "./estimate.ts";

describe("estimateTokens", () => {
  it.each(contract.map((sample) => [sample.name, sample] as const))(
    "gw_13 is within 15 % of real tokenizers on %s",
    (_, { text, tokens }) => {
      const estimate = estimateTokens(text);
      for (const real of Object.values(tokens)) {
        expect(estimate / real).toBeGreaterThan(0.85);
        expect(estimate / real).toBeLessThan(1.15);
      }
    },
  );

  it("has samples of Chinese, English and code to be held to", () => {
    const kinds = Map.groupBy(contract, ({ kind }) => kind);
    for (const kind of ["zh", "en", "code"]) expect(kinds.get(kind)?.length, kind).toBeGreaterThanOrEqual(4);
  });

  it("counts nothing for no text, and something for any other", () => {
    expect(estimateTokens("")).toBe(0);
    for (const text of ["a", "A", "北", "7", "!", "\n", "é", "ж", "🦊", "\ud800", "한", "の", "。", "\u0000"]) {
      expect(estimateTokens(text), JSON.stringify(text)).toBeGreaterThan(0);
    }
  });

  it("takes time in proportion to the text, whatever it is made of", () => {
    for (const unit of some(["A", "aB", " ", "北", "1a", "-", "é北", "Aa"], 3)) {
      const grown = growth(50_000, (size) => {
        const text = unit.repeat(size);
        return () => estimateTokens(text);
      });
      expect(grown, unit).toBeLessThan(QUADRATIC);
    }
  });
});

describe("estimateMessage", () => {
  it.each(["reasoning_content", "name", "anything"])(
    "counts what stands in %s, which goes to the model too",
    (field) => {
      const plain = estimateMessage({ role: "assistant", content: "Hi" });
      const text = "planning ".repeat(100);
      expect(estimateMessage({ role: "assistant", content: "Hi", [field]: text })).toBeGreaterThan(plain + 90);
      expect(estimateMessage({ role: "assistant", content: "Hi", [field]: [{ text }] })).toBeGreaterThan(plain + 90);
      expect(estimateMessage({ role: "assistant", content: "Hi", [field]: null })).toBe(plain);
    },
  );

  it.each([" ", "\t", "\n"])("counts a long row of %j as more than one token", (blank) => {
    const tokens = estimateMessage({ role: "user", content: blank.repeat(100_000) });
    expect(tokens).toBeGreaterThan(1_500);
    expect(tokens).toBeLessThan(100_000);
  });

  it("counts a picture by what models take for one, and not by its bytes", () => {
    const url = `data:image/png;base64,${"A".repeat(100_000)}`;
    const tokens = estimateMessage({ role: "user", content: [{ type: "image_url", image_url: { url } }] });
    expect(tokens).toBeGreaterThan(200);
    expect(tokens).toBeLessThan(3_000);
  });
});

describe("estimateUsage", () => {
  it("says that it is an estimate, and counts reasoning and tool calls too", () => {
    const message = { role: "assistant" as const, content: null, reasoning: "x".repeat(40), tool_calls: [{ id: "c" }] };
    const usage = estimateUsage([{ role: "user", content: "one two three four five six" }], {
      choices: [{ index: 0, message, finish_reason: "stop" }],
      usage: null,
    });
    expect(usage).toMatchObject({ prompt_tokens: 11, estimated: true });
    expect(usage.completion_tokens).toBeGreaterThan(10);
    expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens);
  });
});
