import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { bookedIn, keyFor, pricedConfig, settledBy, WatchedLedgers } from "../../test/support/budget.ts";
import { answerWith } from "../../test/support/fake-ai.ts";
import { chatBody, errorOf, request, Stage, stageConfig } from "../../test/support/stage.ts";
import { NOBODY } from "../access/principal.ts";
import type { Ambient } from "../ambient.ts";
import { parseConfig } from "../config.ts";
import type { GatewayContext } from "../gateway.ts";
import { Accounts } from "./accounts.ts";
import { reserve } from "./reserve.ts";
import { spendReport } from "./spend.ts";

const ANSWER = "one two three four";
const EACH = 4_007_000;
const DAY_MS = 86_400_000;
const ASKED = { max_tokens: 4 };

type Limit = { scope: "key" | "team" | "stage"; period: "day" | "month"; usd: number; fall_to?: string };
const inDay = (usd: number, scope: Limit["scope"] = "key"): Limit => ({ scope, period: "day", usd });

function open(
  name: string,
  limits: Limit[],
  changes: Record<string, unknown> = {},
  ledgers = new WatchedLedgers(),
): Stage {
  const stage = new Stage(pricedConfig(name, { budgets: { limits }, ...changes }), { LEDGER: ledgers.binding });
  stage.ai.replyWith(answerWith(ANSWER));
  return stage;
}

/** Noon, so that no test meets the end of a day. */
const toNoon = () => (DAY_MS * 1.5 - (Date.now() % DAY_MS)) % DAY_MS;

describe("without limits", () => {
  it("asks no ledger on the way, and books the spend afterwards", async () => {
    const ledgers = new WatchedLedgers();
    const stage = open("free", [], {}, ledgers);
    expect((await stage.chat(ASKED)).status).toBe(200);
    expect(ledgers.calls).toEqual(["report"]);
    expect(stage.requestLogs[0]?.cost_usd).toBe(0.004007);
    expect(await bookedIn("free/stage/")).toEqual({ nanos: EACH, requests: 1 });
  });

  it("doesn't wait for the ledger, and tells it later what it missed", async () => {
    const ledgers = new WatchedLedgers();
    const stage = open("later", [], {}, ledgers);
    ledgers.before = () => Promise.reject(new Error("down"));
    for (let i = 0; i < 3; i++) expect((await stage.chat(ASKED)).status).toBe(200);
    expect(await bookedIn("later/stage/")).toEqual({ nanos: 0, requests: 0 });
    ledgers.before = async () => {};
    await stage.chat(ASKED);
    expect(await bookedIn("later/stage/")).toEqual({ nanos: 4 * EACH, requests: 4 });
  });

  it("reports many requests at once", async () => {
    const ledgers = new WatchedLedgers();
    const stage = open("batched", [], {}, ledgers);
    ledgers.before = () => scheduler.wait(50);
    await Promise.all(Array.from({ length: 40 }, () => stage.chat(ASKED)));
    expect(ledgers.calls.length).toBeLessThan(20);
    expect(await bookedIn("batched/stage/")).toEqual({ nanos: 40 * EACH, requests: 40 });
  });

  it("shows what was spent by key, team and model", async () => {
    const stage = open("shown", []);
    const { id, headers } = await keyFor("shown", { team: "search" });
    await stage.chat(ASKED, headers);
    await stage.chat({ ...ASKED, model: "chat-small@1" });
    const report = await spendReport(stage.env, { stage: "shown", budgets: { limits: [] } } as never);
    expect(report).toMatchObject({ stage: "shown", day: { requests: 2, usd: 0.0044077 } });
    expect(report.keys[0]).toMatchObject({ name: id, usd_day: 0.004007, prompt_tokens: 7, completion_tokens: 4 });
    expect(report.teams.map(({ name }) => name)).toEqual(["search"]);
    expect(report.models.map(({ name, usd_month }) => [name, usd_month])).toEqual([
      ["chat@1", 0.004007],
      ["chat-small@1", 0.0004007],
    ]);
  });
});

describe("a budget", () => {
  it("gw_16 refuses with the reset time in OpenAI's shape, and begins anew the next day", async () => {
    const stage = open("anew", [inDay(0.009)]);
    stage.ahead = toNoon();
    for (let i = 0; i < 2; i++) expect((await stage.chat(ASKED)).status).toBe(200);
    const refused = await stage.chat(ASKED);
    expect(refused.status).toBe(402);
    const reset = new Date(Math.ceil((Date.now() + stage.ahead) / DAY_MS) * DAY_MS).toISOString();
    expect(refused.headers.get("x-sluiceway-budget-reset")).toBe(reset);
    expect(refused.headers.get("x-should-retry")).toBe("false");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(43_000);
    const error = await errorOf(refused);
    expect(error).toMatchObject({ code: "budget_exceeded", type: "insufficient_quota" });
    expect(error.message).toContain("$0.008014 of $0.009 is spent");
    expect(error.message).toContain(reset);
    stage.ahead += DAY_MS / 2 + 1_000;
    expect((await stage.chat(ASKED)).status).toBe(200);
  });

  it("gw_16 stands from an unknown key's first request on", async () => {
    const stage = open("unknown", [inDay(0.005)]);
    const [one, other] = [await keyFor("unknown", {}), await keyFor("unknown", {})];
    const statuses = [one, one, other].map(
      ({ headers }) =>
        () =>
          stage.chat(ASKED, headers),
    );
    const seen = [];
    for (const ask of statuses) seen.push((await ask()).status);
    expect(seen).toEqual([200, 402, 200]);
  });

  it("gw_16 of a key stands in place of the stage's for the same period, beside it for another", async () => {
    const stage = open("own", [inDay(0.005), { scope: "key", period: "month", usd: 0.0125 }]);
    const { headers } = await keyFor("own", { budgets: [{ ...inDay(1), fall_to: null }] });
    const statuses = [];
    for (let i = 0; i < 4; i++) statuses.push((await stage.chat(ASKED, headers)).status);
    expect(statuses).toEqual([200, 200, 200, 402]);
  });

  it("of a team holds for its keys together, and tells none of them what it has spent", async () => {
    const stage = open("team", [inDay(0.009, "team")]);
    const keys = [await keyFor("team", { team: "a" }), await keyFor("team", { team: "a" })];
    for (const { headers } of keys) expect((await stage.chat(ASKED, headers)).status).toBe(200);
    const refused = await stage.chat(ASKED, keys[0]?.headers);
    expect(refused.status).toBe(402);
    expect((await errorOf(refused)).message).not.toContain("$");
    expect((await stage.chat(ASKED, (await keyFor("team", { team: "b" })).headers)).status).toBe(200);
    expect((await stage.chat(ASKED, (await keyFor("team", {})).headers)).status).toBe(200);
  });

  it("gw_16 gets back what a failing call held, and all of it when another budget refuses", async () => {
    const stage = open("back", [inDay(0.009), inDay(0.0045, "stage")], { resilience: { attempts: 1 } });
    stage.ai.replyWith(() => new Response("broken", { status: 500 }));
    for (let i = 0; i < 3; i++) expect((await stage.chat(ASKED)).status).toBe(502);
    stage.ai.replyWith(answerWith(ANSWER));
    expect((await stage.chat(ASKED)).status).toBe(200);
    const [one, other] = [await keyFor("back", {}), await keyFor("back", {})];
    for (const { headers } of [one, one, one, other]) expect((await stage.chat(ASKED, headers)).status).toBe(402);
    expect(await bookedIn(`back/key/${one.id}`)).toEqual({ nanos: 0, requests: 0 });
  });

  it("refuses what would fit but for requests on their way, and lets it be tried again", async () => {
    const stage = open("busy", [inDay(0.0045)]);
    const answer = Promise.withResolvers<void>();
    stage.ai.replyWith(async (run) => {
      await answer.promise;
      return answerWith("one")(run);
    });
    const ctx = createExecutionContext();
    const first = stage.fetch(request({ path: "/v1/chat/completions", body: chatBody(ASKED) }), ctx);
    await expect.poll(() => stage.ai.runs.length).toBe(1);
    const refused = await stage.chat(ASKED);
    expect([refused.status, refused.headers.get("retry-after"), refused.headers.get("x-should-retry")]).toEqual([
      ...[402, "1", "true"],
    ]);
    answer.resolve();
    expect((await first).status).toBe(200);
    await waitOnExecutionContext(ctx);
    expect((await stage.chat({ max_tokens: 3 })).status).toBe(200);
  });

  it("counts all choices that are asked for", async () => {
    const stage = open("choices", [inDay(0.0125)]);
    expect((await stage.chat({ ...ASKED, n: 4 })).status).toBe(402);
    expect((await stage.chat({ ...ASKED, n: 3 })).status).toBe(200);
  });

  it("goes to the cheaper model when one is named, for as long as the budget is used up", async () => {
    const stage = open("falls", [{ ...inDay(0.005), fall_to: "chat-small" }]);
    stage.ahead = toNoon();
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await stage.chat({ ...ASKED, model: "chat" }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(answers.map(({ headers }) => headers.get("x-sluiceway-model"))).toEqual([
      ...["chat@1", "chat-small@1", "chat-small@1"],
    ]);
    expect(answers[1]?.headers.get("x-sluiceway-fallback")).toContain("reason=budget");
    expect((await stage.chat({ ...ASKED, model: "chat-small" })).status).toBe(200);
    expect(stage.requestLogs.map(({ cost_usd }) => cost_usd)).toEqual([0.004007, 0.0004007, 0.0004007, 0.0004007]);
    expect((await bookedIn("falls/stage/", Date.now() + stage.ahead)).nanos).toBe(settledBy(stage));
    stage.ahead += DAY_MS;
    expect((await stage.chat({ ...ASKED, model: "chat" })).headers.get("x-sluiceway-model")).toBe("chat@1");
  });

  it("goes to no cheaper model for a client that wants none but the one it named", async () => {
    const stage = open("stays", [{ ...inDay(0.005), fall_to: "chat-small" }]);
    stage.ahead = toNoon();
    const ask = () => stage.chat({ ...ASKED, model: "chat" }, { "x-sluiceway-fallback": "none" });
    expect((await ask()).status).toBe(200);
    const refused = await ask();
    expect([refused.status, (await errorOf(refused)).code]).toEqual([402, "budget_exceeded"]);
    expect((await stage.chat({ ...ASKED, model: "chat" })).headers.get("x-sluiceway-model")).toBe("chat-small@1");
    expect((await bookedIn("stays/stage/", Date.now() + stage.ahead)).nanos).toBe(settledBy(stage));
  });

  it("books what goes on without going to the cheaper model", async () => {
    const limits = [{ ...inDay(0.001, "stage"), fall_to: "chat-small" }];
    const config = parseConfig(JSON.stringify(stageConfig(pricedConfig("goes-on", { budgets: { limits } }))));
    const spec = config.models.chat?.versions["1"];
    if (spec === undefined) throw new Error("the config has this version");
    const ambient = { now: () => Date.now(), linger: async () => {} };
    const accounts = new Accounts(config, ambient as unknown as Ambient);
    const executionCtx = createExecutionContext();
    const variables: Record<string, unknown> = {
      gateway: { config, accounts, ambient },
      principal: NOBODY,
      record: { id: "r" },
    };
    const get = (name: string) => variables[name];
    const c = { get, env: open("goes-on", []).env, executionCtx } as unknown as GatewayContext;
    const held = await reserve(c, { promptTokens: 7, mostTokens: 4, spec });
    expect(held.insteadOf).toBe("chat-small");
    expect(held.settle({ prompt_tokens: 7, completion_tokens: 4, total_tokens: 11 }, spec)).toBe(0.004007);
    expect(held.settle({ prompt_tokens: 7, completion_tokens: 4, total_tokens: 11 }, spec)).toBe(0);
    held.release();
    await waitOnExecutionContext(executionCtx);
    expect(await bookedIn("goes-on/stage/")).toEqual({ nanos: EACH, requests: 1 });
  });

  it("refuses when the model to go to is not served any more", async () => {
    const stage = open("fell", []);
    const { headers } = await keyFor("fell", { budgets: [{ ...inDay(0.005), fall_to: "chat-tiny" }] });
    expect((await stage.chat(ASKED, headers)).status).toBe(200);
    expect((await stage.chat(ASKED, headers)).status).toBe(402);
  });

  it("goes to no cheaper model that another budget refuses too", async () => {
    const stage = open("both", [{ ...inDay(0.005), fall_to: "chat-small" }, inDay(0.0042, "stage")]);
    const statuses = [];
    for (let i = 0; i < 2; i++) statuses.push((await stage.chat({ ...ASKED, model: "chat" })).status);
    expect(statuses).toEqual([200, 402]);
  });

  it("doesn't hinder models whose price is nothing", async () => {
    const { models } = pricedConfig("priceless") as { models: Record<string, { versions: Record<string, object> }> };
    const own = { task: "chat", versions: { "1": { backend: "workers-ai", id: "@cf/a/own" } }, split: [[1, 100]] };
    const stage = open("priceless", [inDay(0)], { models: { ...models, own } });
    expect((await stage.chat({ ...ASKED, model: "own" })).status).toBe(200);
    expect((await stage.chat(ASKED)).status).toBe(402);
  });

  it("refuses with a 503 when its ledger can't be asked, and nothing stays held", async () => {
    const ledgers = new WatchedLedgers();
    const stage = open("down", [inDay(0.0045)], {}, ledgers);
    ledgers.before = () => Promise.reject(new Error("down"));
    const refused = await stage.chat(ASKED);
    expect([refused.status, (await errorOf(refused)).code]).toEqual([503, "budget_unavailable"]);
    expect(refused.headers.get("retry-after")).toBe("2");
    expect(stage.ai.runs).toHaveLength(0);
    ledgers.before = async () => {};
    expect((await stage.chat(ASKED)).status).toBe(200);
  });

  it("asks no ledger for a second after a refusal", async () => {
    const ledgers = new WatchedLedgers();
    const stage = open("hammered", [inDay(0.0001)], {}, ledgers);
    for (let i = 0; i < 10; i++) expect((await stage.chat(ASKED)).status).toBe(402);
    expect(ledgers.count("reserve")).toBe(1);
    expect((await stage.chat({ max_tokens: 1, messages: [{ role: "user", content: "" }] })).status).toBe(402);
    stage.ahead = 1_100;
    await stage.chat(ASKED);
    expect(ledgers.count("reserve")).toBe(3);
  });

  it("tells each request its own figures, also without the ledger, and of a smaller one only where it may fit", async () => {
    const stage = open("figures", [inDay(0.005)]);
    const told = async (max_tokens: number) => (await errorOf(await stage.chat({ max_tokens }))).message;
    expect(await told(5)).toMatch(/ \$0\.00 of \$0\.005 is spent, .* to \$0\.005006\. .*smaller `max_tokens`/);
    expect(await told(50)).toContain("may come to $0.050006.");
    stage.ahead = 1_100;
    expect((await stage.chat(ASKED)).status).toBe(200);
    expect(await told(1)).toContain("smaller `max_tokens`");
    const spent = open("figures-spent", [inDay(0.004007)]);
    expect((await spent.chat(ASKED)).status).toBe(200);
    expect((await errorOf(await spent.chat(ASKED))).message).not.toContain("smaller");
  });

  it("asks no ledger on the way while the remainder is large", async () => {
    const ledgers = new WatchedLedgers();
    const stage = open("leased", [inDay(100), { scope: "stage", period: "month", usd: 1_000 }], {}, ledgers);
    await stage.chat(ASKED);
    expect(ledgers.count("reserve")).toBe(2);
    for (let i = 0; i < 30; i++) expect((await stage.chat(ASKED)).status).toBe(200);
    expect(ledgers.count("reserve")).toBe(2);
    expect(await bookedIn("leased/stage/")).toEqual({ nanos: 31 * EACH, requests: 31 });
  });

  it("goes on by its lease when the ledger can't be asked", async () => {
    const ledgers = new WatchedLedgers();
    const stage = open("lease-holds", [inDay(100)], {}, ledgers);
    await stage.chat(ASKED);
    ledgers.before = () => Promise.reject(new Error("down"));
    expect((await stage.chat(ASKED)).status).toBe(200);
    stage.ahead = 61_000;
    expect((await stage.chat(ASKED)).status).toBe(503);
  });

  it("gw_15 books what a backend overstates at no less than nothing, and says so", async () => {
    const stage = open("overstated", [inDay(1)]);
    const usage = {
      prompt_tokens: 10,
      completion_tokens: 1,
      total_tokens: 11,
      prompt_tokens_details: { cached_tokens: 900 },
    };
    const choices = [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }];
    stage.ai.replyWith(() => Response.json({ id: "up", model: "m", created: 1, choices, usage }));
    await stage.chat(ASKED);
    expect(stage.requestLogs[0]?.cost_usd).toBe(0.00101);
    expect(stage.logs).toContainEqual({
      ...{ event: "usage_overstated", level: "warn", id: "req-test-1", cached_tokens: 900, prompt_tokens: 10 },
    });
  });

  it("gw_15 books an answer from the cache as a request that cost nothing", async () => {
    const stage = open("hit", [inDay(0.009)], { cache: { enabled: true, ttl: 300 } });
    const same = { ...ASKED, temperature: 0 };
    for (let i = 0; i < 5; i++) expect((await stage.chat(same)).status).toBe(200);
    expect(stage.ai.runs).toHaveLength(1);
    expect(await bookedIn("hit/stage/")).toEqual({ nanos: EACH, requests: 5 });
  });
});

describe("tokens a minute", () => {
  const limits = { body_bytes: 1_048_576, requests: 100, period: 60, tokens_per_minute: 1_000 };

  it("are counted as asked for, then as they came, for each caller by itself", async () => {
    const stage = open("minute", [], { limits });
    expect((await stage.chat({ max_tokens: 900 })).status).toBe(200);
    expect((await stage.chat({ max_tokens: 900 })).status).toBe(200);
    const refused = await stage.chat({ max_tokens: 990 });
    expect([refused.status, (await errorOf(refused)).code]).toEqual([429, "tokens_per_minute_exceeded"]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(55);
    const { headers } = await keyFor("minute", {});
    expect((await stage.chat({ max_tokens: 990 }, headers)).status).toBe(200);
    stage.ahead = 62_000;
    expect((await stage.chat({ max_tokens: 990 })).status).toBe(200);
  });

  it("of parallel requests over isolates never pass the limit", async () => {
    const stages = [open("minute-parallel", [], { limits }), open("minute-parallel", [], { limits })];
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (stages[i % 2] as Stage).chat({ max_tokens: 300 })),
    );
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(3);
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(17);
  });

  it("let a request pass that may answer at more length than a minute has, into an empty minute", async () => {
    const stage = open("minute-long", [], { limits });
    expect((await stage.chat({ max_tokens: 8_000 })).status).toBe(200);
    expect((await stage.chat({ max_tokens: 8_000 })).status).toBe(429);
  });

  it("refuse a prompt that no minute has room for, for good", async () => {
    const stage = open("minute-prompt", [], { limits });
    const answer = await stage.chat({ messages: [{ role: "user", content: "word ".repeat(2_000) }] });
    expect([answer.status, (await errorOf(answer)).code]).toEqual([400, "request_too_large"]);
  });

  it("of a key stand in place of the stage's", async () => {
    const stage = open("minute-key", [], { limits });
    const { headers } = await keyFor("minute-key", { tokensPerMinute: 20_000 });
    for (let i = 0; i < 5; i++) expect((await stage.chat({ max_tokens: 3_000 }, headers)).status).toBe(200);
  });

  it("are counted by address where no key is asked for", async () => {
    const stage = open("minute-address", [], { limits, auth: { required: false } });
    const from = (address: string) => stage.chat({ max_tokens: 995 }, { "cf-connecting-ip": address });
    expect((await from("1.2.3.4")).status).toBe(200);
    expect((await from("::ffff:1.2.3.4")).status).toBe(429);
    expect((await from("1.2.3.5")).status).toBe(200);
  });

  it("let requests pass when they can't be counted", async () => {
    const ledgers = new WatchedLedgers();
    const stage = open("minute-down", [], { limits }, ledgers);
    ledgers.before = () => Promise.reject(new Error("down"));
    for (let i = 0; i < 3; i++) expect((await stage.chat({ max_tokens: 900 })).status).toBe(200);
  });
});
