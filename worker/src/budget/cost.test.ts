import { describe, expect, it } from "vitest";
import cases from "../../../tests/contract/cost.json";
import type { Usage } from "../backends/backend.ts";
import { costOf, overstatesCache, tokensIn, worstOf } from "./cost.ts";
import { dollars, nanosOf, usdOf } from "./money.ts";

const PRICE = { input: 1, cached: 0.5, output: 10 };
const WORST = { promptTokens: 1_000, mostTokens: 2_000 };

describe("cost", () => {
  it("agrees with the shared cases", () => {
    expect(cases.length).toBeGreaterThan(200);
    for (const { price, prompt, cached, completion, nanos, worst } of cases) {
      const got = { nanos: costOf(price, { prompt, cached, completion }), worst: worstOf(price, prompt, completion) };
      expect({ price, prompt, cached, completion, ...got }).toEqual({
        price,
        prompt,
        cached,
        completion,
        nanos,
        worst,
      });
    }
  });

  it.each([
    [{ prompt: 2006, cached: 1920, completion: 300 }, 0.004046],
    [{ prompt: 2006, cached: 0, completion: 300 }, 0.005006],
    [{ prompt: 2006, cached: 2006, completion: 300 }, 0.004003],
    [{ prompt: 100, cached: 250, completion: 0 }, 0.00005],
  ])("gw_15 counts cached tokens once: %o costs %d", (tokens, usd) => {
    expect(usdOf(costOf(PRICE, tokens))).toBe(usd);
  });

  it("gw_15 knows when more cached tokens are told than the prompt has", () => {
    expect(overstatesCache({ prompt: 100, cached: 101, completion: 0 })).toBe(true);
    expect(overstatesCache({ prompt: 100, cached: 100, completion: 0 })).toBe(false);
  });

  it("costs nothing where no price is known", () => {
    expect(costOf(null, { prompt: 9, cached: 0, completion: 9 })).toBe(0);
    expect(worstOf(undefined, 9, 9)).toBe(0);
  });

  it("reads what OpenAI's usage tells", () => {
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      prompt_tokens_details: { cached_tokens: 4 },
    };
    expect(tokensIn(usage, WORST)).toEqual({ prompt: 10, completion: 5, cached: 4 });
    expect(tokensIn({ prompt_tokens: 10, total_tokens: 10 } as unknown as Usage, WORST)).toMatchObject({
      completion: 0,
    });
  });

  it.each([[-1], [Number.NaN], [Number.POSITIVE_INFINITY], [null], ["7"], [{}]])(
    "gw_15 takes a count of %s for the worst case, never for nothing or less",
    (wrong) => {
      const usage = { prompt_tokens: wrong, completion_tokens: wrong, total_tokens: 0 } as unknown as Usage;
      expect(tokensIn(usage, WORST)).toEqual({ prompt: 1_000, completion: 2_000, cached: 0 });
    },
  );

  it("writes dollars with the digits that matter", () => {
    expect([nanosOf(0.004), nanosOf(10), nanosOf(0.000001), 0].map(dollars)).toEqual([
      "$0.004",
      "$10.00",
      "$0.000001",
      "$0.00",
    ]);
  });
});
