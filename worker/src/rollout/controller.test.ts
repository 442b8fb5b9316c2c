import { env, evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeEach, describe, expect, it } from "vitest";
import { gate, outcome, rolled, specOf, split, step } from "../../test/support/rollout.ts";
import { modelsWith, rolloutSpec } from "../../test/support/rollout-spec.ts";
import { Stage } from "../../test/support/stage.ts";
import type { Split } from "../config.ts";
import type { GatewayEnv } from "../env.ts";
import type { RolloutController } from "./controller.ts";
import type { Order, RolloutPort } from "./port.ts";
import type { Batch, ModelSpec, Outcome, StageSpec } from "./types.ts";

const namespace = (env as unknown as GatewayEnv).ROLLOUTS;
const NOBODY = { webhook_secret: null, format: "json" } as const;
const PLAIN = { chat: split([1, 90], [2, 10]) };
const CANARY = { chat: rolled({ steps: [step(10, { hold_s: 0 }), step(100, { hold_s: 0 })] }) };

let stages = 0;
let uploads = 0;

describe("RolloutController", () => {
  let name = "";
  let stub: DurableObjectStub<RolloutController>;
  let controller: RolloutPort;
  let batches = 0;
  let clients = 0;

  beforeEach(() => {
    name = `controller-${++stages}`;
    stub = namespace.getByName(name);
    controller = stub as unknown as RolloutPort;
    batches = 0;
  });

  const upload = (models: Record<string, ModelSpec>): StageSpec =>
    specOf(models, `2026-11-30T10:00:00.${String(++uploads).padStart(6, "0")}Z\nv`);
  const declare = (spec: StageSpec) => controller.splits(spec, name, NOBODY);
  const journal = async () => (await controller.journal(null, 0, 1_000)).entries;
  const requests = (version: number, count: number, more: Partial<Outcome> = {}) =>
    Array.from({ length: count }, () => outcome(version, { client: `c${++clients}`, ...more }));
  const batchOf = (outcomes: Outcome[], number = ++batches): Batch => ({
    ...{ isolate: "i1", number, outcomes, feedback: [] },
  });
  const report = (spec: StageSpec, outcomes: Outcome[], number?: number) =>
    controller.report(spec, batchOf(outcomes, number), []);
  const command = (more: Partial<Order>) =>
    controller.command({ model: "chat", command: "pause", actor: "ann", reason: null, expect: null, ...more });
  const bad = () => [...requests(1, 25), ...requests(2, 25, { failed: true })];
  const live = async (spec: StageSpec): Promise<Split | undefined> => (await declare(spec)).weights.chat;

  it("takes a plain split as it is, and says so in the journal", async () => {
    const spec = upload(PLAIN);
    expect((await declare(spec)).weights).toEqual({ chat: PLAIN.chat.split });
    expect(await journal()).toMatchObject([{ number: 1, model: "chat", kind: "spec", weights: PLAIN.chat.split }]);
  });

  it("moves a candidate that is healthy, and takes one back that is not", async () => {
    const spec = upload(CANARY);
    expect(await live(spec)).toEqual([
      [1, 90],
      [2, 10],
    ]);
    for (let at = 0; at < 12; at++) await report(spec, [...requests(1, 25), ...requests(2, 25)]);
    expect(await live(spec)).toEqual([
      [1, 5],
      [2, 95],
    ]);
    for (let at = 0; at < 4; at++) await report(spec, bad());
    const answer = await report(spec, []);
    expect(answer?.weights.chat).toEqual([[1, 100]]);
    const last = (await journal()).at(-1);
    expect(last).toMatchObject({ kind: "rolled-back", cause: "gate:errors", phase: "rolled-back" });
    expect(last?.sentence).toMatch(/^chat: .*errors/);
  });

  it("leaves a hold by its alarm, without any traffic", async () => {
    const spec = upload({
      chat: rolled({ gates: [], steps: [10, 100].map((weight) => step(weight, { hold_s: 3_600 })) }),
    });
    await declare(spec);
    const due = await runInDurableObject(stub, (_, { storage }) => storage.getAlarm());
    expect(due).toBeGreaterThan(Date.now() + 3_500_000);
    await pass(3_601);
    expect(await runDurableObjectAlarm(stub)).toBe(true);
    expect((await controller.views()).models[0]?.step).toBe(1);
  });

  it("finds a hold over that ended before its alarm came", async () => {
    const spec = upload({
      chat: rolled({ gates: [], steps: [10, 100].map((weight) => step(weight, { hold_s: 3_600 })) }),
      other: split(),
    });
    await declare(spec);
    await pass(3_601);
    await report(spec, [outcome(1, { model: "other" })]);
    expect((await controller.views()).models[0]?.step).toBe(1);
  });

  /** Lets time pass for what the controller has written: everything happened that much earlier. */
  async function pass(seconds: number): Promise<void> {
    await runInDurableObject(stub, (_, { storage }) => {
      const rows = storage.sql
        .exec<{ json: string }>("SELECT json FROM state WHERE field = 'models' AND entry = 'chat'")
        .toArray();
      const model = JSON.parse(rows[0]?.json ?? "") as { clock: { since: number } };
      model.clock.since -= seconds * 1_000;
      storage.sql.exec("UPDATE state SET json = ? WHERE field = 'models' AND entry = 'chat'", JSON.stringify(model));
      const alarm = JSON.stringify(Date.now() - 1_000);
      storage.sql.exec("UPDATE state SET json = ? WHERE field = 'alarm'", alarm);
    });
    await evictDurableObject(stub);
  }

  it("tells whom the worker version before wants told, once the newest was withdrawn", async () => {
    const [before, newest] = [upload(PLAIN), upload(CANARY)];
    await declare(before);
    await controller.splits(newest, "renamed", NOBODY);
    await declare(before);
    expect((await controller.views()).stage).toBe("renamed");
    await controller.withdraw(newest.order, "ann");
    await declare(before);
    await controller.splits(newest, "renamed", NOBODY);
    expect((await controller.views()).stage).toBe(name);
  });

  it("takes no second thumb for a request whose batch comes once more", async () => {
    const spec = upload({ chat: rolled({ gates: [gate("feedback")], steps: [step(10), step(100)] }) });
    await declare(spec);
    const batch = batchOf(requests(2, 1));
    const served = [{ id: "r-1", caller: "ann", model: "chat", version: 2, client: "c" }];
    await controller.report(spec, batch, served);
    expect(await controller.feedback("r-1", "ann", true)).toBe("counted");
    await controller.report(spec, batch, served);
    expect(await controller.feedback("r-1", "ann", true)).toBe("repeated");
  });

  it("forgets nothing when it is evicted at any moment", async () => {
    const steps = [step(10, { hold_s: 0 }), step(50, { hold_s: 0, approval: true }), step(100, { hold_s: 0 })];
    const spec = upload({ chat: rolled({ steps }) });
    await declare(spec);
    for (let at = 0; at < 30; at++) {
      if (at % 3 === 1) await evictDurableObject(stub);
      const before = await controller.views();
      const told = await journal();
      if (at % 3 === 2) await evictDurableObject(stub);
      expect(await controller.views()).toEqual(before);
      expect(await journal()).toEqual(told);
      expect(told.filter(({ kind }) => kind !== "check").at(-1)?.weights).toEqual(before.models[0]?.weights);
      await report(spec, [...requests(1, 25), ...requests(2, 25)]);
    }
    expect((await controller.views()).models[0]).toMatchObject({ phase: "awaiting", step: 1 });
    await command({ command: "promote" });
    for (let at = 0; at < 12; at++) await report(spec, [...requests(1, 25), ...requests(2, 25)]);
    expect((await controller.views()).models[0]?.phase).toBe("watching");
    expect((await journal()).map(({ number }) => number)).toEqual((await journal()).map((_, index) => index + 1));
  });

  it("counts a batch once, however often it comes", async () => {
    const spec = upload(CANARY);
    await declare(spec);
    const batch = [...requests(1, 5), ...requests(2, 5)];
    for (let at = 0; at < 5; at++) await report(spec, batch, 1);
    await evictDurableObject(stub);
    await report(spec, batch, 1);
    const view = (await controller.views()).models[0];
    expect(view?.gates[0]?.candidate).toEqual({ requests: 5, bad: 0 });
  });

  it("asks for a spec that it doesn't know, and counts nothing of it", async () => {
    const spec = upload(CANARY);
    expect(await report(spec, requests(2, 5))).toBeNull();
    await declare(spec);
    expect(await report(upload(PLAIN), requests(2, 5))).toBeNull();
    const view = (await controller.views()).models[0];
    expect(view?.gates[0]?.candidate.requests).toBe(0);
  });

  it("isn't moved back by a worker version that reads late, and is by one that returns on purpose", async () => {
    const [first, second] = [upload(PLAIN), upload({ chat: split([2, 100]) })];
    await declare(first);
    await declare(second);
    expect(await live(first)).toEqual([[2, 100]]);
    await evictDurableObject(stub);
    expect(await live(first)).toEqual([[2, 100]]);
    expect(await live(upload(PLAIN))).toEqual(PLAIN.chat.split);
  });

  it("goes by a spec's name once it was told the whole, and asks for it again where that is not enough", async () => {
    const first = upload(PLAIN);
    expect(await controller.live(first)).toBeNull();
    await declare(first);
    expect(await controller.live(first)).toMatchObject({ weights: { chat: PLAIN.chat.split } });
    const second = upload(CANARY);
    expect(await controller.live(second)).toBeNull();
    await declare(second);
    expect(await controller.live(first)).toEqual(await controller.live(second));
    // Whom the first one wants told is to be said anew.
    await controller.withdraw(second.order, "ann");
    expect(await controller.live(first)).toBeNull();
    await declare(first);
    expect(await controller.live(first)).toMatchObject({ weights: { chat: PLAIN.chat.split } });
  });

  it("goes back to the spec before one that was withdrawn", async () => {
    const [first, second] = [upload(PLAIN), upload({ chat: split([2, 100]) })];
    await declare(first);
    await declare(second);
    expect(await controller.withdraw(second.order, "ann")).toMatchObject({ done: { order: first.order } });
    expect(await live(second)).toEqual(PLAIN.chat.split);
    expect(await controller.withdraw(first.order, "ann")).toMatchObject({ refused: { code: "nothing_to_return_to" } });
  });

  it("ro_02 doesn't try again what has failed until git changes it", async () => {
    const spec = upload({ chat: rolled({ gates: [gate("errors")] }) });
    await declare(spec);
    for (let at = 0; at < 4; at++) await report(spec, bad());
    const told = (await journal()).length;
    for (let at = 0; at < 5; at++) {
      await evictDurableObject(stub);
      expect(await live({ ...spec, order: upload({}).order })).toEqual([[1, 100]]);
    }
    expect((await controller.views()).models[0]).toMatchObject({ phase: "rolled-back" });
    expect((await journal()).length).toBe(told);
    expect(await live(upload({ chat: rolled({ attempt: 2 }) }))).toEqual([
      [1, 90],
      [2, 10],
    ]);
  });

  it("makes one transition of what two people ask for at once", async () => {
    await declare(upload({ chat: rolled() }));
    const { revision } = await controller.views();
    const both = await Promise.all(
      ["ann", "bob"].map((actor) => command({ command: "abort", actor, expect: revision })),
    );
    expect(both.map((answer) => "done" in answer)).toEqual([true, false]);
    expect(both[1]).toMatchObject({ refused: { code: "revision_moved", hint: expect.any(String) } });
    expect((await journal()).filter(({ kind }) => kind === "aborted")).toHaveLength(1);
  });

  it("has a journal that nobody can change", async () => {
    await declare(upload(PLAIN));
    await runInDurableObject(stub, (_, { storage }) => {
      for (const statement of ["DELETE FROM journal", "UPDATE journal SET model = 'x'"]) {
        expect(() => storage.sql.exec(statement)).toThrow("only ever added to");
      }
    });
    expect(await journal()).toHaveLength(1);
  });

  it("moves nothing that it can't write into the journal", async () => {
    const spec = upload({ chat: rolled() });
    await declare(spec);
    const before = await controller.views();
    await runInDurableObject(stub, (_, { storage }) => {
      storage.sql.exec("INSERT INTO journal VALUES ((SELECT MAX(number) + 1 FROM journal), 'chat', '{}')");
    });
    const order = { model: "chat", command: "abort", actor: "ann", reason: null, expect: null } as const;
    await runInDurableObject(stub, (object: RolloutController) => {
      expect(() => object.command(order)).toThrow("UNIQUE");
    });
    expect(await controller.views()).toEqual(before);
    await evictDurableObject(stub);
    expect(await controller.views()).toEqual(before);
  });

  it("gives the journal by pages, of one model or of all", async () => {
    await declare(upload({ chat: split([1, 100]), other: split([1, 100]) }));
    await declare(upload({ chat: split([2, 100]), other: split([1, 100]) }));
    const first = await controller.journal(null, 0, 2);
    expect([first.entries.map(({ number }) => number), first.next]).toEqual([[1, 2], 2]);
    const rest = await controller.journal(null, 2, 2);
    expect([rest.entries.map(({ number }) => number), rest.next]).toEqual([[3], null]);
    const mine = await controller.journal("chat", 0, 10);
    expect(mine.entries.map(({ model }) => model)).toEqual(["chat", "chat"]);
  });

  it("lets go of what an earlier one has kept in its own way", async () => {
    await runInDurableObject(stub, (_, { storage }) => {
      storage.sql.exec("CREATE TABLE IF NOT EXISTS specs (digest TEXT PRIMARY KEY)");
    });
    await evictDurableObject(stub);
    expect((await declare(upload(PLAIN))).weights).toEqual({ chat: PLAIN.chat.split });
  });
});

describe("a stage", () => {
  it("goes by its controller within two seconds of a command", async () => {
    const stage = new Stage({ stage: "decides", models: modelsWith(rolloutSpec({ control: 0 })) });
    await stage.chat({ model: "chat", user: "a" });
    const controller = namespace.getByName("decides") as unknown as RolloutPort;
    const order = { model: "chat", actor: "ann", reason: null, expect: null };
    expect(await controller.command({ ...order, command: "promote" })).toMatchObject({ done: { phase: "watching" } });
    stage.ahead = 2_001;
    const promoted = await stage.chat({ model: "chat", user: "a" });
    expect(promoted.headers.get("x-sluiceway-model")).toBe("chat@2");
    await controller.command({ ...order, command: "rollback" });
    stage.ahead = 4_002;
    const back = await stage.chat({ model: "chat", user: "a" });
    expect([back.headers.get("x-sluiceway-model"), back.headers.get("x-sluiceway-variant")]).toEqual([
      "chat@1",
      "stable",
    ]);
  });

  it("takes back a version that fails, by what its own requests have shown", async () => {
    const rollout = rolloutSpec({ steps: [step(50)], min_fail: 3 });
    const resilience = { attempts: 1, breaker: { failures: 1_000_000 } };
    const stage = new Stage({ stage: "by-itself", models: modelsWith(rollout), resilience });
    stage.ai.replyWith((run) =>
      run.model.includes("kimi")
        ? Response.json({ internalCode: 3043, description: "Internal", name: "AiError" }, { status: 500 })
        : Response.json({
            choices: [{ index: 0, message: { role: "assistant", content: "Yes." }, finish_reason: "stop" }],
          }),
    );
    const controller = namespace.getByName("by-itself") as unknown as RolloutPort;
    const phase = async () => (await controller.views()).models.find(({ model }) => model === "chat")?.phase;
    for (let user = 0; user < 100 && (await phase()) !== "rolled-back"; user++) {
      await stage.chat({ model: "chat", user: `user-${user}` });
    }
    expect(await phase()).toBe("rolled-back");
    const after = await Promise.all(
      ["a", "b", "c", "d", "e", "f"].map((user) => stage.chat({ model: "chat", user: `late-${user}` })),
    );
    expect(after.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
  });
});
