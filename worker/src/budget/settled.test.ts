import { env } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { bookedIn, keyFor, pricedConfig } from "../../test/support/budget.ts";
import { answerWith, delta, sse } from "../../test/support/fake-ai.ts";
import { errorOf, Stage } from "../../test/support/stage.ts";
import type { GatewayEnv } from "../env.ts";
import { ledgerOf } from "./accounts.ts";
import type { Ask, LedgerPort } from "./protocol.ts";

const bindings = env as unknown as GatewayEnv;

/** Dollars for a million tokens. */
const PRICE = { input: 1, cached: 0.5, output: 10 };

function stageAt(name: string, changes: Record<string, unknown> = {}): Stage {
  const versions = { "1": { backend: "workers-ai", id: "@cf/a/large", price: PRICE } };
  const chat = { task: "chat", versions, split: [[1, 100]] };
  return new Stage(pricedConfig(name, { models: { chat }, ...changes }));
}

describe("what an answer is booked at", () => {
  const told = (cached_tokens: number) => ({
    ...{ prompt_tokens: 2006, completion_tokens: 300, total_tokens: 2306 },
    prompt_tokens_details: { cached_tokens },
  });

  it.each([
    [1920, false, 0.004046],
    [1920, true, 0.004046],
    [0, false, 0.005006],
    [2006, true, 0.004003],
    [9999, false, 0.004003],
  ])("gw_15 with %d of 2006 prompt tokens cached (stream: %s) is $%d", async (cached, stream, usd) => {
    const name = `cached-${cached}-${stream}`;
    const stage = stageAt(name);
    const usage = told(cached);
    const whole = { choices: [{ index: 0, message: { content: "Hi" }, finish_reason: "stop" }], usage };
    const end = JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
    const last = JSON.stringify({ choices: [], usage });
    stage.ai.replyWith(() => (stream ? sse([delta("Hi"), end, last, "[DONE]"]) : Response.json(whole)));
    expect((await stage.chat({ stream })).status).toBe(200);
    expect(stage.requestLogs[0]).toMatchObject({ cost_usd: usd, usage_estimated: false });
    expect(await bookedIn(`${name}/stage/`)).toEqual({ nanos: Math.round(usd * 1e9), requests: 1 });
    expect(stage.logs.some(({ event }) => event === "usage_overstated")).toBe(cached > 2006);
  });

  it("gw_16 is held for longer than the longest answer takes", async () => {
    const held: number[] = [];
    const getByName = (name: string): LedgerPort => {
      const port = ledgerOf(bindings, name);
      const reserve = (ask: Ask) => {
        held.push(ask.until - ask.now);
        return port.reserve(ask);
      };
      return { reserve, hit: port.hit, report: (report) => port.report(report), spend: port.spend };
    };
    const limits = [{ scope: "stage", period: "day", usd: 0.05 }];
    const config = pricedConfig("held", {
      timeouts: { answer_ms: 5_000, stream_ms: 3_600_000 },
      budgets: { limits },
    });
    const stage = new Stage(config, { LEDGER: { getByName } as unknown as GatewayEnv["LEDGER"] });
    expect((await stage.chat({ stream: true, max_tokens: 4 })).status).toBe(200);
    expect(held).toHaveLength(1);
    expect(held[0]).toBeGreaterThan(3_600_000);
  });

  it("gw_16 of twenty parallel calls of $0.004 on a budget of $0.01 is two calls, and what they came to", async () => {
    const name = "one-cent";
    const { id, headers } = await keyFor(name, {
      budgets: [{ scope: "key", period: "day", usd: 0.01, fall_to: null }],
    });
    const isolates = [0, 1, 2].map(() => stageAt(name));
    for (const { ai } of isolates) ai.replyWith(answerWith("word ".repeat(399)));
    // Seven prompt tokens by the model's word; what is reserved is the estimate of them.
    const ask = (isolate: number) => (isolates[isolate] as Stage).chat({ max_tokens: 399 }, headers);
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(i % 3)));
    const passed = answers.filter(({ status }) => status === 200);
    expect(passed).toHaveLength(2);
    for (const refused of answers.filter((answer) => !passed.includes(answer))) {
      expect([refused.status, (await errorOf(refused)).code]).toEqual([402, "budget_exceeded"]);
    }
    const each = 7 * 1_000 + 399 * 10_000;
    expect(await bookedIn(`${name}/key/${id}`)).toEqual({ nanos: 2 * each, requests: 2 });
  });
});
