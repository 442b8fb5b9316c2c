import { beforeEach, describe, expect, it } from "vitest";
import { modelsWith, rolloutSpec } from "../../test/support/rollout-spec.ts";
import { stageConfig } from "../../test/support/stage.ts";
import { parseConfig, type Split } from "../config.ts";
import type { GatewayEnv } from "../env.ts";
import type { RolloutPort } from "../rollout/port.ts";
import type { Batch, LiveSplits, StageSpec } from "../rollout/types.ts";
import { LiveTable } from "./table.ts";

const config = parseConfig(JSON.stringify(stageConfig()));
const onItsWay = parseConfig(JSON.stringify(stageConfig({ models: modelsWith(rolloutSpec()) })));
const env = { VERSION: { id: "v1", tag: "", timestamp: "2026-11-01T00:00:00Z" } } as unknown as GatewayEnv;
const BATCH: Batch = { isolate: "i1", number: 1, outcomes: [], feedback: [] };
const DECLARED: Split = [
  [1, 90],
  [2, 10],
];
const HALF: Split = [
  [1, 50],
  [2, 50],
];
const ALL: Split = [
  [1, 0],
  [2, 100],
];

/** A controller whose answer, and failures, a test decides. */
class Controller {
  asked: StageSpec[] = [];
  /** How often it was asked, by the whole spec or by its name. */
  asks = 0;
  revision = 1;
  mirrors: LiveSplits["mirrors"] = {};
  knows = true;
  answer: () => Promise<Split> = async () => HALF;

  async splits(spec: StageSpec): Promise<LiveSplits> {
    this.asked.push(spec);
    this.asks++;
    return this.#now();
  }

  async live(): Promise<LiveSplits | null> {
    if (!this.knows) return null;
    this.asks++;
    return this.#now();
  }

  async #now(): Promise<LiveSplits> {
    const { revision, mirrors } = this;
    return { revision, weights: { chat: await this.answer() }, mirrors };
  }

  async report(): Promise<LiveSplits | null> {
    if (!this.knows) return null;
    return { revision: this.revision, weights: { chat: await this.answer() }, mirrors: this.mirrors };
  }
}

describe("LiveTable", () => {
  let now = 1_000;
  let controller = new Controller();
  let work: Promise<void>[] = [];
  const newTable = (of = config) =>
    new LiveTable(
      of,
      () => now,
      () => controller as unknown as RolloutPort,
    );
  let table = newTable();
  const split = () => table.splitOf("chat", env, (job) => work.push(job));
  const settled = () => Promise.all(work);
  /** Splits that requests get one after another, all before a timer that is shorter than any wait for the controller. */
  const withoutWaiting = (requests: number) => {
    const each = async () => {
      const splits: Split[] = [];
      for (let request = 0; request < requests; request++) splits.push(await split());
      return splits;
    };
    return Promise.race([each(), scheduler.wait(100).then(() => "waited")]);
  };

  beforeEach(() => {
    now = 1_000;
    controller = new Controller();
    work = [];
    table = newTable();
  });

  it("asks the controller before the first answer", async () => {
    expect(await split()).toEqual([
      [1, 50],
      [2, 50],
    ]);
    expect(controller.asked).toEqual([
      {
        order: "2026-11-01T00:00:00Z\nv1",
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        release: config.release,
        models: {
          chat: { split: DECLARED, rollout: null },
          intent: { split: [[1, 100]], rollout: null },
        },
      },
    ]);
  });

  it("asks at most once in two seconds, and answers from memory meanwhile", async () => {
    controller.answer = async () => DECLARED;
    for (now = 1_000; now < 5_000; now += 10) {
      await split();
      await settled();
    }
    expect(controller.asks).toBe(2);
  });

  it("tells the whole spec once, and goes by its name from then on, unless it is asked for it again", async () => {
    for (now = 1_000; now < 9_000; now += 100) {
      await split();
      await settled();
    }
    expect(controller.asks).toBeGreaterThan(3);
    expect(controller.asked).toHaveLength(1);
    controller.knows = false;
    await table.refresh(env);
    expect(controller.asked).toHaveLength(2);
  });

  it("tells the whole spec to another worker version's controller, which can't go by a name", async () => {
    await table.refresh(env);
    controller.live = () => Promise.reject(new TypeError("no such method"));
    controller.answer = async () => ALL;
    await table.refresh(env);
    expect(controller.asked).toHaveLength(2);
    expect(await split()).toEqual(ALL);
  });

  it("answers with what it knows while it refreshes", async () => {
    await split();
    const late = Promise.withResolvers<Split>();
    controller.answer = () => late.promise;
    now += 2_000;
    expect(await split()).toEqual([
      [1, 50],
      [2, 50],
    ]);
    late.resolve([
      [1, 0],
      [2, 100],
    ]);
    await settled();
    expect(await split()).toEqual([
      [1, 0],
      [2, 100],
    ]);
  });

  it("goes by the config when the controller fails at first", async () => {
    controller.answer = () => Promise.reject(new Error("down"));
    expect(await split()).toEqual(DECLARED);
    expect(table.live).toBe(false);
  });

  it("goes by the config when the controller hangs, and waits for it only once", async () => {
    controller.answer = () => new Promise(() => {});
    expect(await split()).toEqual(DECLARED);
    expect(await withoutWaiting(20)).toEqual(Array(20).fill(DECLARED));
    expect(controller.asked).toHaveLength(1);
  });

  it("lets no early request go by the config while the first ask is under way", async () => {
    const slow = Promise.withResolvers<Split>();
    controller.answer = () => slow.promise;
    const early = [split(), split(), split()];
    slow.resolve([
      [1, 0],
      [2, 100],
    ]);
    for (const got of await Promise.all(early)) expect(got[1]).toEqual([2, 100]);
  });

  it("asks again when a refresh never came back", async () => {
    controller.answer = () => new Promise(() => {});
    await split();
    now += 5_000;
    await split();
    expect(controller.asks).toBe(2);
  });

  it("keeps the last known split when the controller fails later", async () => {
    await split();
    controller.answer = () => Promise.reject(new Error("down"));
    now += 2_000;
    await split();
    await settled();
    expect(await split()).toEqual([
      [1, 50],
      [2, 50],
    ]);
  });

  it("gives the share of another worker version's candidate to stable", async () => {
    controller.answer = async () => [
      [1, 50],
      [2, 20],
      [9, 30],
    ];
    expect(await split()).toEqual([
      [1, 80],
      [2, 20],
    ]);
  });

  it.each([
    [
      "begins with a version that this config doesn't have",
      [
        [9, 50],
        [1, 50],
      ],
    ],
    [
      "doesn't sum to 100",
      [
        [1, 50],
        [2, 20],
      ],
    ],
    ["is empty", []],
  ])("passes over a live split that %s", async (_, bad) => {
    controller.answer = async () => bad as unknown as Split;
    expect(await split()).toEqual(DECLARED);
  });

  describe("where a rollout moves the split", () => {
    beforeEach(() => {
      table = newTable(onItsWay);
    });

    it("asks again after one second, in the background", async () => {
      for (now = 1_000; now < 5_000; now += 10) {
        await split();
        await settled();
      }
      expect(controller.asks).toBe(4);
    });

    it("serves nobody by a split that is older than two seconds", async () => {
      await split();
      now += 2_001;
      controller.answer = async () => ALL;
      expect(await split()).toEqual(ALL);
    });

    it("goes on with the last known split when the controller can't be reached, and lets one request wait", async () => {
      await split();
      controller.answer = () => new Promise(() => {});
      now += 60_000;
      expect(await split()).toEqual(HALF);
      expect(await withoutWaiting(19)).toEqual(Array(19).fill(HALF));
      expect(controller.asks).toBe(2);
    });

    it("waits again once the controller has been back", async () => {
      await split();
      controller.answer = () => Promise.reject(new Error("down"));
      now += 60_000;
      await split();
      controller.answer = async () => HALF;
      now += 1_000;
      await split();
      await settled();
      controller.answer = async () => ALL;
      now += 2_001;
      expect(await split()).toEqual(ALL);
    });

    it("takes the split that comes back with a batch, and needs not ask for it then", async () => {
      await split();
      now += 900;
      controller.answer = async () => ALL;
      controller.revision = 2;
      expect(await table.report(env, BATCH, [])).toBe(true);
      now += 900;
      expect(await split()).toEqual(ALL);
      expect(controller.asked).toHaveLength(1);
    });

    it("tells a controller that has lost its memory what is declared, and keeps the batch", async () => {
      controller.knows = false;
      expect(await table.report(env, BATCH, [])).toBe(false);
      expect(controller.asked).toHaveLength(1);
      controller.knows = true;
      expect(await table.report(env, BATCH, [])).toBe(true);
    });

    it("isn't taken back by an answer that was overtaken", async () => {
      await split();
      const late = Promise.withResolvers<Split>();
      controller.answer = () => late.promise;
      const old = table.refresh(env);
      controller.answer = async () => ALL;
      controller.revision = 2;
      await table.refresh(env);
      late.resolve(HALF);
      await old;
      expect(await split()).toEqual(ALL);
    });

    it("believes a controller that begins anew", async () => {
      controller.revision = 9;
      await split();
      controller.revision = 1;
      controller.answer = async () => ALL;
      await table.refresh(env);
      expect(await split()).toEqual(ALL);
    });
  });

  it("knows which model has a share of its requests mirrored", async () => {
    expect(table.mirrorOf("chat")).toBeNull();
    controller.mirrors = { chat: { version: 2, share: 5 } };
    await split();
    expect(table.mirrorOf("chat")).toEqual({ version: 2, share: 5 });
    expect(table.mirrorOf("constructor")).toBeNull();
  });
});
