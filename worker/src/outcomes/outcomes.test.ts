import { beforeEach, describe, expect, it } from "vitest";
import { modelsWith, rolloutSpec } from "../../test/support/rollout-spec.ts";
import { stageConfig } from "../../test/support/stage.ts";
import type { Ambient } from "../ambient.ts";
import { parseConfig } from "../config.ts";
import type { GatewayEnv } from "../env.ts";
import { newRecord, type RequestRecord } from "../record.ts";
import type { Batch, Outcome } from "../rollout/types.ts";
import { Outcomes } from "./outcomes.ts";

const latency = { name: "latency", margin: 0.05, slo: 8, mode: "enforce" } as const;
const config = parseConfig(JSON.stringify(stageConfig({ models: modelsWith(rolloutSpec({ gates: [latency] })) })));
const env = {} as GatewayEnv;

describe("Outcomes", () => {
  let now = 0;
  let batches: { at: number; batch: Batch }[] = [];
  let work: Promise<void>[] = [];
  let takes: () => Promise<boolean> = async () => true;
  let outcomes: Outcomes;
  let ids = 0;

  const ambient: Ambient = {
    now: () => now,
    newId: () => "",
    random: () => 0,
    log: () => {},
    // Time passes only here.
    linger: async (ms) => {
      now += ms;
    },
  };
  let ramping = false;
  const port = {
    get ramping() {
      return ramping;
    },
    report: async (_env: GatewayEnv, batch: Batch) => {
      batches.push({ at: now, batch });
      return takes();
    },
  };
  const later = (job: Promise<void>) => void work.push(job);
  const settled = async () => {
    await Promise.all(work);
    work = [];
  };

  function begin(model = "chat"): RequestRecord {
    const record = newRecord(`r${++ids}`, now);
    record.evidence = {
      model,
      version: 2,
      user: "u",
      request: null,
      said: null,
      astray: false,
      faltered: false,
      late: false,
    };
    return record;
  }
  const finish = (record = begin()) => outcomes.finished(record, 200, now, env, later);
  const told = (): Outcome[] => batches.flatMap(({ batch }) => batch.outcomes);

  beforeEach(() => {
    now = 1_000_000;
    batches = [];
    work = [];
    takes = async () => true;
    ramping = false;
    outcomes = new Outcomes(config, ambient, port, () => "i1");
  });

  it("tells them in numbered batches, at most one in half a second", async () => {
    for (let at = 0; at < 40; at++) {
      finish();
      await Promise.resolve();
    }
    await settled();
    finish();
    await settled();
    finish();
    await settled();
    expect(batches.map(({ batch }) => batch.number)).toEqual(batches.map((_, index) => index + 1));
    expect(told()).toHaveLength(42);
    for (const [index, { at }] of batches.entries()) {
      if (index > 0) expect(at - (batches[index - 1]?.at ?? 0)).toBeGreaterThanOrEqual(500);
    }
  });

  it("drops what is more than a batch holds, whatever it says", async () => {
    for (let at = 0; at < 1_000; at++) finish();
    await settled();
    expect(batches.map(({ batch }) => batch.outcomes.length)).toEqual([200]);
  });

  it("sends a batch that was not taken again, under the same number and unchanged", async () => {
    takes = () => Promise.reject(new Error("down"));
    finish();
    await settled();
    const before = batches.length;
    expect(before).toBeGreaterThan(1);
    takes = async () => true;
    finish();
    await settled();
    const numbers = batches.map(({ batch }) => batch.number);
    expect(numbers).toEqual([...Array<number>(before + 1).fill(1), 2]);
    expect(batches[0]?.batch).toEqual(batches[before]?.batch);
  });

  it("gives up a round that died with its request", async () => {
    takes = () => new Promise(() => {});
    finish();
    await Promise.resolve();
    finish();
    expect(work).toHaveLength(1);
    now += 11_000;
    takes = async () => true;
    finish();
    expect(work).toHaveLength(2);
    await work[1];
    expect(batches.at(-1)?.batch.outcomes.length).toBeGreaterThan(0);
  });

  it("is told by the next request where one is over and can start nothing more", async () => {
    const over = () => {
      throw new Error("over");
    };
    expect(() => outcomes.finished(begin(), 200, now, env, over)).not.toThrow();
    finish();
    await settled();
    // What was begun may have been sent all the same: by its number it counts once.
    const byNumber = new Map(batches.map(({ batch }) => [batch.number, batch.outcomes.length]));
    expect([...byNumber.values()].reduce((sum, count) => sum + count, 0)).toBe(2);
  });

  it("tells of a request that still runs as its age passes the limit, then of its rest", async () => {
    const record = begin();
    outcomes.began(record, env, later);
    await settled();
    expect(told()).toMatchObject([{ part: "late", version: 2, failed: false }]);
    expect(told()[0]?.total_ms).toBeGreaterThan(8_000);
    now += 1_000;
    finish(record);
    await settled();
    expect(told().map(({ part }) => part)).toEqual(["late", "rest"]);
  });

  it("holds back no outcome while it waits for another request to be late", async () => {
    outcomes.began(begin(), env, later);
    await Promise.resolve();
    finish();
    await settled();
    const [first] = batches;
    expect(first?.batch.outcomes.map(({ part }) => part)).toEqual(["whole"]);
    expect(first?.at).toBeLessThanOrEqual(1_001_000);
  });

  it("tells of one that ends in time once, as a whole", async () => {
    const record = begin();
    finish(record);
    await settled();
    now += 60_000;
    finish();
    await settled();
    expect(told().map(({ part }) => part)).toEqual(["whole", "whole"]);
  });

  it("has nothing to do with models that are on no way", async () => {
    expect([outcomes.watches("chat"), outcomes.watches("intent"), outcomes.watches("constructor")]).toEqual([
      true,
      false,
      false,
    ]);
    outcomes.finished(newRecord("r", now), 200, now, env, later);
    expect(work).toEqual([]);
  });

  it("tells on a cron what no request has told", async () => {
    outcomes.add({ ...({} as Outcome), model: "chat" });
    await outcomes.flush(env);
    await outcomes.flush(env);
    expect(batches).toHaveLength(1);
  });

  describe("while worker versions are compared", () => {
    beforeEach(() => {
      ramping = true;
    });

    it("tell every request once: of a model on its way as of that model, any other as of none", async () => {
      finish();
      finish(begin("intent"));
      const plain = newRecord("r", now);
      finish(plain);
      await settled();
      expect(told().map(({ model, failed }) => [model, failed])).toEqual([
        ["chat", false],
        ["", false],
        ["", false],
      ]);
    });

    it.each([
      ["budget", false],
      ["overloaded", true],
    ])("call an answer of another model a failure, but for one that a budget led to: %s", async (reason, failed) => {
      finish(Object.assign(newRecord("r", now), { fallback: { model: "chat-small@1", reason } }));
      await settled();
      expect(told().map((one) => one.failed)).toEqual([failed]);
    });

    it("tell a failure of our own, which says nothing of the model", async () => {
      const record = begin();
      record.errorCode = "internal";
      outcomes.finished(record, 500, now, env, later);
      await settled();
      expect(told().map(({ model, failed }) => [model, failed])).toEqual([["", true]]);
    });

    it.each([{ cache: "hit" as const }, { cache: "semantic" as const }, { errorCode: "client_disconnected" }])(
      "tell nothing of what says nothing: %o",
      async (more) => {
        finish(Object.assign(begin(), more));
        finish(Object.assign(newRecord("r", now), more));
        await settled();
        expect(told()).toEqual([]);
      },
    );
  });
});
