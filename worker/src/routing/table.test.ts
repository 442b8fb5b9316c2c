import { beforeEach, describe, expect, it } from "vitest";
import { stageConfig } from "../../test/support/stage.ts";
import { parseConfig, type Split } from "../config.ts";
import { LiveTable, type TableSource } from "./table.ts";

const config = parseConfig(JSON.stringify(stageConfig()));
const DECLARED = [
  [1, 90],
  [2, 10],
];

/** A controller whose answer, and failures, a test decides. */
class Controller implements TableSource {
  asked: string[] = [];
  answer: () => Promise<Split> = async () => [
    [1, 50],
    [2, 50],
  ];

  async table(digest: string) {
    this.asked.push(digest);
    return { weights: { chat: await this.answer() } };
  }
}

describe("LiveTable", () => {
  let now = 1_000;
  let controller = new Controller();
  let work: Promise<void>[] = [];
  let table = new LiveTable(config, () => now);
  const split = () =>
    table.splitOf(
      "chat",
      () => controller,
      (job) => work.push(job),
    );
  const settled = () => Promise.all(work);

  beforeEach(() => {
    now = 1_000;
    controller = new Controller();
    work = [];
    table = new LiveTable(config, () => now);
  });

  it("asks the controller before the first answer", async () => {
    expect(await split()).toEqual([
      [1, 50],
      [2, 50],
    ]);
    expect(controller.asked).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
  });

  it("asks at most once in two seconds, and answers from memory meanwhile", async () => {
    for (now = 1_000; now < 5_000; now += 10) {
      await split();
      await settled();
    }
    expect(controller.asked).toHaveLength(2);
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
    const start = performance.now();
    for (let i = 0; i < 20; i++) expect(await split()).toEqual(DECLARED);
    expect(performance.now() - start).toBeLessThan(100);
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
    expect(controller.asked).toHaveLength(2);
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

  it.each([
    [
      "names a version that this config doesn't have",
      [
        [1, 50],
        [9, 50],
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
});
