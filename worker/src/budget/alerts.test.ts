import { abortAllDurableObjects, env, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { keyFor, pricedConfig } from "../../test/support/budget.ts";
import { answerWith } from "../../test/support/fake-ai.ts";
import { Stage } from "../../test/support/stage.ts";
import type { GatewayEnv } from "../env.ts";
import type { Alert } from "./alerts.ts";
import type { Ledger } from "./ledger.ts";

const HOOK = "https://hooks.test/budget";
const stubOf = (ledger: string) => (env as unknown as GatewayEnv).LEDGER.getByName(ledger);

/** What the webhook was sent, and what it answers. */
const hook = {
  sent: [] as { url: string; alert: Alert }[],
  answer: (): Response | Promise<Response> => new Response(),
};

beforeEach(() => {
  hook.sent = [];
  hook.answer = () => new Response(null, { status: 204 });
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    hook.sent.push({ url, alert: JSON.parse(String(init.body)) as Alert });
    return hook.answer();
  });
});
afterEach(() => vi.unstubAllGlobals());

/** A stage whose calls cost 4.007 thousandths of a dollar; a budget of `usd` a day for all keys together. */
function open(
  name: string,
  usd: number,
  scope: "stage" | "key" = "stage",
  webhook: string | null = "BUDGET_WEBHOOK",
): Stage {
  const stage = new Stage(pricedConfig(name, { budgets: { limits: [{ scope, period: "day", usd }], webhook } }));
  stage.ai.replyWith(answerWith("one two three four"));
  return stage;
}

async function spend(stage: Stage, calls: number, headers: Record<string, string> = {}): Promise<void> {
  for (let i = 0; i < calls; i++) await stage.chat({ max_tokens: 4 }, headers);
}

/** Waits until the ledger has tried all that is due: the runtime runs its alarm by itself, or is made to. */
async function deliver(ledger: string): Promise<void> {
  await runDurableObjectAlarm(stubOf(ledger));
  const due = () =>
    runInDurableObject(stubOf(ledger), (_: Ledger, { storage: { sql } }) => {
      const query = "SELECT COUNT(*) AS n FROM alerts WHERE body IS NOT NULL AND due <= ?";
      return sql.exec(query, Date.now()).one().n;
    });
  await expect.poll(due, { timeout: 5_000 }).toBe(0);
}

const percents = () => hook.sent.map(({ alert }) => alert.percent);

describe("budget alerts", () => {
  it("are told at 50, 80 and 100 %, once each", async () => {
    const stage = open("told", 0.0405);
    const seen: number[][] = [];
    for (let i = 0; i < 12; i++) {
      await spend(stage, 1);
      await deliver("told/stage/");
      await deliver("told/stage/");
      seen.push(percents());
    }
    expect(seen[4]).toEqual([]);
    expect(seen[5]).toEqual([50]);
    expect(seen[8]).toEqual([50, 80]);
    // The tenth call is the last that fits; the eleventh is refused.
    expect(seen[9]).toEqual([50, 80]);
    expect(seen[11]).toEqual([50, 80, 100]);
  });

  it("say what was reached, in words and figures, to the secret's URL", async () => {
    const stage = open("words", 0.0081, "key");
    const { id, headers } = await keyFor("words", {});
    await spend(stage, 1, headers);
    await spend(stage, 1, headers);
    await deliver(`words/key/${id}`);
    const start = new Date().toISOString().slice(0, 10);
    expect(hook.sent.at(-1)).toEqual({
      url: HOOK,
      alert: {
        ...{ event: "budget_alert", stage: "words", scope: `key ${id}`, period: "day", start, percent: 80 },
        ...{ spent_usd: 0.008014, limit_usd: 0.0081, resets_at: expect.stringMatching(/T00:00:00\.000Z$/) },
        text: `Sluiceway words: key ${id} has reached 80 % of its budget for the day ($0.008014 of $0.0081).`,
      },
    });
  });

  it("tell the highest share alone when several are passed at once", async () => {
    const stage = open("jump", 0.0045);
    await spend(stage, 1);
    await deliver("jump/stage/");
    expect(percents()).toEqual([80]);
  });

  it("go again until the webhook takes them, also after a crash", async () => {
    const stage = open("again", 0.0405);
    hook.answer = () => new Response("busy", { status: 503 });
    await spend(stage, 6);
    await deliver("again/stage/");
    expect(percents()).toEqual([50]);
    // Not by an eviction: that waits for as long as an alarm is set.
    await abortAllDurableObjects();
    hook.answer = () => Promise.reject(new TypeError("no route"));
    await makeDue("again/stage/");
    await deliver("again/stage/");
    hook.answer = () => new Response();
    await makeDue("again/stage/");
    await deliver("again/stage/");
    const told = hook.sent.length;
    expect(percents()).toEqual([50, 50, 50]);
    await makeDue("again/stage/");
    await deliver("again/stage/");
    expect(hook.sent).toHaveLength(told);
  });

  it("wait longer after each failure", async () => {
    const stage = open("longer", 0.0405);
    hook.answer = () => new Response("busy", { status: 503 });
    await spend(stage, 6);
    let tries = 0;
    for (let i = 0; i < 3; i++) {
      const before = Date.now();
      await makeDue("longer/stage/");
      await deliver("longer/stage/");
      const { attempts, due } = await runInDurableObject(stubOf("longer/stage/"), (_: Ledger, { storage }) =>
        storage.sql.exec<{ attempts: number; due: number }>("SELECT attempts, due FROM alerts").one(),
      );
      // The runtime may have tried by itself before.
      expect(attempts).toBeGreaterThan(tries);
      tries = attempts;
      const tried = due - 5_000 * 2 ** (attempts - 1);
      expect(tried).toBeGreaterThanOrEqual(before);
      expect(tried).toBeLessThanOrEqual(Date.now());
      const alarm = await runInDurableObject(stubOf("longer/stage/"), (_: Ledger, { storage }) => storage.getAlarm());
      expect(alarm).toBe(due);
    }
  });

  it("are nobody's business without a webhook, and no call to a secret that is missing", async () => {
    await spend(open("none", 0.0045, "stage", null), 2);
    await deliver("none/stage/");
    await spend(open("missing", 0.0045, "stage", "NO_SUCH_SECRET"), 2);
    await deliver("missing/stage/");
    expect(hook.sent).toEqual([]);
  });

  it("cost no request anything when the webhook is slow", async () => {
    const stage = open("slow", 0.0405);
    // It never answers: a request that waited for it would be ended by the test's own timeout.
    hook.answer = () => new Promise(() => {});
    await spend(stage, 10);
    expect(stage.requestLogs.map(({ status }) => status)).toEqual(Array(10).fill(200));
  });
});

/** As if the wait for the next try were over. */
async function makeDue(ledger: string): Promise<void> {
  await runInDurableObject(stubOf(ledger), async (_: Ledger, { storage }) => {
    storage.sql.exec("UPDATE alerts SET due = 0");
    if ((await storage.getAlarm()) === null) await storage.setAlarm(Date.now() + 60_000);
  });
}
