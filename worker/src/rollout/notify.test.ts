import { env, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { rolled, specOf } from "../../test/support/rollout.ts";
import type { Rollouts } from "../config-rollout.ts";
import type { GatewayEnv } from "../env.ts";
import type { Notice } from "./notify.ts";
import type { RolloutPort } from "./port.ts";

const HOOK = "https://hooks.test/budget";

/** What the webhook was sent, and what it answers. */
const hook = {
  sent: [] as { url: string; body: Notice }[],
  answer: (): Response => new Response(),
};
let stages = 0;

beforeEach(() => {
  hook.sent = [];
  hook.answer = () => new Response(null, { status: 204 });
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    hook.sent.push({ url, body: JSON.parse(String(init.body)) as Notice });
    return hook.answer();
  });
});
afterEach(() => vi.unstubAllGlobals());

async function open(notify: Partial<Rollouts>) {
  const name = `notices-${++stages}`;
  const stub = (env as unknown as GatewayEnv).ROLLOUTS.getByName(name);
  const controller = stub as unknown as RolloutPort;
  const spec = specOf({ chat: rolled() }, `2026-11-30T10:00:00Z\n${name}`);
  const order = { model: "chat", actor: "ann", reason: null, expect: null };
  await controller.splits(spec, name, { webhook_secret: "BUDGET_WEBHOOK", format: "json", ...notify });
  const left = () =>
    runInDurableObject(stub, (_, { storage: { sql } }) => [...sql.exec("SELECT number, attempts FROM notices").raw()]);
  /** Lets the alarm come, and waits until all that is due was tried. */
  const deliver = async () => {
    await runDurableObjectAlarm(stub);
    const due = () =>
      runInDurableObject(stub, (_, { storage: { sql } }) => {
        return sql.exec("SELECT COUNT(*) AS n FROM notices WHERE due <= ?", Date.now()).one().n;
      });
    await expect.poll(due, { timeout: 5_000 }).toBe(0);
  };
  return { name, stub, controller, order, left, deliver };
}

describe("the webhook", () => {
  it("is told of each transition once, in order, by the journal's own sentence", async () => {
    const { name, controller, order, left, deliver } = await open({});
    await controller.command({ ...order, command: "pause" });
    await controller.command({ ...order, command: "abort" });
    await deliver();
    await deliver();
    const { entries } = await controller.journal(null, 0, 100);
    expect(hook.sent.map(({ url }) => url)).toEqual(entries.map(() => HOOK));
    expect(hook.sent.map(({ body }) => body)).toEqual(
      entries.map((entry) => ({
        event: "rollout",
        text: `Sluiceway ${name}: ${entry.sentence}`,
        stage: name,
        ...entry,
      })),
    );
    expect(entries.map(({ kind }) => kind).slice(-2)).toEqual(["paused", "aborted"]);
    expect(await left()).toEqual([]);
  });

  it("is told no more than a text where it is Slack's", async () => {
    const { deliver } = await open({ format: "slack" });
    await deliver();
    expect(hook.sent.map(({ body }) => Object.keys(body))).toEqual([["text"]]);
    expect(hook.sent[0]?.body.text).toMatch(/^Sluiceway notices-\d+: chat: /);
  });

  it("is nobody where none is named", async () => {
    const { controller, order, left, deliver } = await open({ webhook_secret: null });
    await controller.command({ ...order, command: "pause" });
    await deliver();
    expect([hook.sent, await left()]).toEqual([[], []]);
  });

  it("hears nothing of what was refused", async () => {
    const { controller, order, deliver } = await open({});
    await deliver();
    const before = hook.sent.length;
    expect(await controller.command({ ...order, command: "resume" })).toHaveProperty("refused");
    await deliver();
    expect(hook.sent).toHaveLength(before);
  });

  it.each<[string, () => Response, string]>([
    ["fails", () => new Response(null, { status: 500 }), "BUDGET_WEBHOOK"],
    ["sends elsewhere", () => Response.redirect("https://elsewhere.test/"), "BUDGET_WEBHOOK"],
    ["has no secret", () => new Response(), "NO_SUCH_SECRET"],
  ])("that %s is tried again later, and stops no rollout", async (_, answer, webhook_secret) => {
    hook.answer = answer;
    const { stub, controller, order, left, deliver } = await open({ webhook_secret });
    await deliver();
    expect(await left()).toEqual([[1, 1]]);
    expect(await controller.command({ ...order, command: "abort" })).toMatchObject({ done: { phase: "aborted" } });
    // None is set for as long as one runs.
    const alarm = () => runInDurableObject(stub, (_, { storage }) => storage.getAlarm());
    await expect.poll(alarm, { timeout: 5_000 }).not.toBeNull();
  });
});
