import { env } from "cloudflare:test";
import { describe, expect, inject, it } from "vitest";
import { outcome } from "../../test/support/rollout.ts";
import { modelsWith, rolloutSpec } from "../../test/support/rollout-spec.ts";
import { stageConfig } from "../../test/support/stage.ts";
import { parseConfig, type Split } from "../config.ts";
import type { GatewayEnv } from "../env.ts";
import { LiveTable } from "../routing/table.ts";
import type { RolloutPort } from "./port.ts";
import type { Batch } from "./types.ts";

const FOLLOWS_MS = 2_000;
const STEPS = [5, 100].map((weight) => ({ weight, hold_s: 3_600, approval: false, margins: {} }));
const live = env as unknown as GatewayEnv;
let stages = 0;

/** One isolate of several: what it answers to requests, by its own clock. */
class Isolate {
  readonly table: LiveTable;
  readonly work: Promise<void>[] = [];

  constructor(name: string, now: () => number) {
    const models = modelsWith(rolloutSpec({ steps: STEPS }));
    const config = parseConfig(JSON.stringify(stageConfig({ models })));
    this.table = new LiveTable(config, now, () => live.ROLLOUTS.getByName(name) as unknown as RolloutPort);
  }

  async split(): Promise<Split> {
    return this.table.splitOf("chat", live, (job) => this.work.push(job));
  }

  async hasCandidate(): Promise<boolean> {
    return (await this.split()).some(([version, weight]) => version === 2 && weight > 0);
  }
}

/** A batch in which every request of the candidate has failed. */
function broken(number: number): Batch {
  const requests = (version: number, count: number, failed: boolean) =>
    Array.from({ length: count }, (_, at) => outcome(version, { client: `c${version}-${number}-${at}`, failed }));
  return { isolate: "i0", number, outcomes: [...requests(1, 95, false), ...requests(2, 5, true)], feedback: [] };
}

/** One isolate tells what it has seen until the candidate is rolled back; when that was, by the journal. */
async function verdict(name: string, told: Isolate): Promise<number> {
  const controller = live.ROLLOUTS.getByName(name) as unknown as RolloutPort;
  for (let number = 1; number <= 10; number++) {
    await told.table.report(live, broken(number), []);
    const end = (await controller.journal("chat", 0, 100)).entries.find(({ kind }) => kind === "rolled-back");
    if (end !== undefined) return end.at;
  }
  throw new Error("it was not rolled back");
}

describe("every isolate follows a verdict", () => {
  it("within two seconds of its own clock: the one that told at once, one with traffic, and one that was idle", async () => {
    const name = `isolates-${++stages}`;
    let now = 0;
    const [teller, busy, idle] = [1, 2, 3].map(() => new Isolate(name, () => now)) as [Isolate, Isolate, Isolate];
    const all = [teller, busy, idle];
    for (const isolate of all) expect(await isolate.hasCandidate()).toBe(true);
    // The others have just asked, which is when a verdict finds them least aware.
    await verdict(name, teller);
    expect(await teller.hasCandidate()).toBe(false);
    expect([await busy.hasCandidate(), await idle.hasCandidate()]).toEqual([true, true]);
    for (now = 100; now <= FOLLOWS_MS; now += 100) {
      await busy.hasCandidate();
      await Promise.all(busy.work);
    }
    expect(now).toBe(FOLLOWS_MS + 100);
    expect([await busy.hasCandidate(), await idle.hasCandidate()]).toEqual([false, false]);
  });

  it.skipIf(!inject("long"))("within two seconds, by real timers, four isolates with traffic", async () => {
    const name = `isolates-${++stages}`;
    const isolates = Array.from({ length: 4 }, () => new Isolate(name, () => Date.now()));
    const asked: { isolate: number; at: number; candidate: boolean }[] = [];
    let going = true;
    const people = isolates.map(async (isolate, at) => {
      // Each has a beat of its own, so that they have asked at different moments.
      for (await scheduler.wait(at * 230); going; await scheduler.wait(40 + at * 7)) {
        const began = Date.now();
        asked.push({ isolate: at, at: began, candidate: await isolate.hasCandidate() });
      }
    });
    await scheduler.wait(2_500);
    const moment = await verdict(name, isolates[0] as Isolate);
    await scheduler.wait(FOLLOWS_MS + 1_500);
    going = false;
    await Promise.all(people);
    const late = asked.filter(({ at }) => at > moment + FOLLOWS_MS);
    const last = isolates.map((_, number) =>
      Math.max(
        ...asked.filter(({ isolate, candidate }) => isolate === number && candidate).map(({ at }) => at - moment),
      ),
    );
    console.log(`last request with the candidate, ms after the verdict, by isolate: ${last.join(", ")}`);
    expect(new Set(late.map(({ isolate }) => isolate)).size).toBe(4);
    expect(late.filter(({ candidate }) => candidate)).toEqual([]);
  });
});
