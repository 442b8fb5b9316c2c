import { describe, expect, it } from "vitest";
import { rolled, stage, step, type TestStage } from "../../test/support/rollout.ts";
import type { FiguresView } from "./types.ts";

const BIG = Number.MAX_SAFE_INTEGER;

function figures(of: TestStage): FiguresView {
  const found = of.view().figures;
  if (found === null) throw new Error("there are none");
  return found;
}

function versionOf(of: TestStage, version: number) {
  return figures(of).versions.find((one) => one.version === version);
}

/** How many requests stand at the bucket that holds so many milliseconds. */
function at(histogram: readonly number[] | undefined, ms: number): number | undefined {
  return histogram?.[Math.floor(Math.log2(ms) * 4)];
}

const sum = (numbers: readonly number[] | undefined) => (numbers ?? []).reduce((total, one) => total + one, 0);

describe("the figures of a rollout", () => {
  it("count each version's requests by how long they took, in buckets a fifth wide", () => {
    const made = stage();
    made.batch([
      ...made.requests(1, 3, { total_ms: 1_000, first_token_ms: 200 }),
      ...made.requests(2, 2, { total_ms: 4_000, first_token_ms: null }),
      ...made.requests(2, 1, { total_ms: 4_100, first_token_ms: 210 }),
    ]);
    const [stable, candidate] = [versionOf(made, 1), versionOf(made, 2)];
    expect([stable?.requests, at(stable?.total, 1_000), at(stable?.first_token, 200)]).toEqual([3, 3, 3]);
    expect([candidate?.requests, at(candidate?.total, 4_096)]).toEqual([3, 1]);
    expect([at(candidate?.total, 4_000), sum(candidate?.first_token)]).toEqual([2, 1]);
  });

  it("count a batch once, however often it comes", () => {
    const made = stage();
    const outcomes = made.requests(2, 5);
    for (let again = 0; again < 3; again++) made.batch(outcomes, 7);
    expect(versionOf(made, 2)?.requests).toBe(5);
  });

  it("count one that was late when it is over, and nothing that failed as quick", () => {
    const made = stage();
    made.batch(made.requests(2, 1, { part: "late", total_ms: 10_001 }));
    expect(versionOf(made, 2)).toBeUndefined();
    made.batch(made.requests(2, 1, { part: "rest", total_ms: 30_000 }));
    made.batch(made.requests(2, 1, { failed: true, total_ms: 5, first_token_ms: null, cost_usd: null }));
    const found = versionOf(made, 2);
    expect([found?.requests, sum(found?.total), at(found?.total, 30_000)]).toEqual([2, 1, 1]);
  });

  it("count neither probes nor versions that are no arm, nor what was admitted before", () => {
    const made = stage();
    const { since } = figures(made);
    made.batch([
      ...made.requests(2, 1, { source: "probe" }),
      ...made.requests(3, 1),
      ...made.requests(2, 1, { at: since - 1 }),
      ...made.requests(1, 1, { source: "shadow" }),
    ]);
    expect(figures(made).versions).toEqual([]);
  });

  it("count of a shadow what was mirrored, for the candidate alone", () => {
    const made = stage({ strategy: "shadow", steps: [], mirror: 10, control: 0 });
    made.batch([
      ...made.requests(1, 4),
      ...made.requests(2, 2, { source: "shadow" }),
      ...made.requests(2, 1, { source: "shadow", part: "late" }),
      ...made.requests(2, 1),
    ]);
    expect([versionOf(made, 1)?.requests, versionOf(made, 2)?.requests]).toEqual([4, 3]);
  });

  it("sum cost by time, to the last of it, whatever the time", () => {
    const made = stage({ strategy: "ab", arms: [30], steps: [], control: 0 });
    for (let round = 0; round < 400; round++) {
      made.batch([...made.requests(1, 2, { cost_usd: 0.001 }), ...made.requests(2, 1, { cost_usd: 0.003 })]);
      made.now += 77_000;
    }
    const { slot_ms } = figures(made);
    const [stable, candidate] = [versionOf(made, 1)?.cost ?? [], versionOf(made, 2)?.cost ?? []];
    expect(slot_ms * 60).toBeGreaterThan(399 * 77_000);
    expect(slot_ms * 30).toBeLessThan(399 * 77_000);
    expect([stable.length, candidate.length]).toEqual([stable.length, stable.length]);
    expect([sum(stable.map(([count]) => count)), sum(candidate.map(([count]) => count))]).toEqual([800, 400]);
    expect(sum(stable.map(([, usd]) => usd))).toBeCloseTo(0.8, 9);
    expect(sum(candidate.map(([, usd]) => usd))).toBeCloseTo(1.2, 9);
    // Each slot has its share: what came is spread evenly.
    for (const [count] of stable.slice(0, -1)) expect(Math.abs(count - (2 * slot_ms) / 77_000)).toBeLessThan(3);
  });

  it("stay small, whatever comes and for how long", () => {
    const made = stage({ strategy: "ab", candidates: [2, 3, 4], arms: [10, 10, 10], steps: [], control: 0 });
    for (const total_ms of [0, 1, 1e3, 1e6, 1e9, BIG]) {
      made.now += 40_000_000_000;
      for (const version of [1, 2, 3, 4])
        made.batch(made.requests(version, 30, { total_ms, first_token_ms: total_ms, cost_usd: 1e6 }));
    }
    expect(JSON.stringify(made.state.figures).length).toBeLessThan(10_000);
    for (const { total, cost } of figures(made).versions) {
      expect([sum(total), total.length, sum(cost.map(([count]) => count))]).toEqual([180, 80, 180]);
      expect(cost.length).toBeLessThanOrEqual(60);
    }
  });

  it("begin anew with another rollout, and stay when its end has come", () => {
    const made = stage({ steps: [step(10)] });
    made.broken();
    expect(made.view().phase).toBe("rolled-back");
    const before = versionOf(made, 2)?.requests ?? 0;
    expect(before).toBeGreaterThan(9);
    made.batch(made.requests(1, 5));
    expect(versionOf(made, 2)?.requests).toBe(before);
    made.now += 1_000;
    made.spec({ chat: rolled({ attempt: 2 }) });
    expect(figures(made)).toMatchObject({ since: made.now, versions: [] });
  });

  it("are those of a rollout that a person promotes before it began", () => {
    const made = stage({ checks: ["golden"] });
    made.command("promote");
    made.batch(made.requests(2, 4));
    expect(versionOf(made, 2)?.requests).toBe(4);
  });

  it("go with the model that git declares no longer", () => {
    const made = stage();
    made.batch(made.requests(2, 4));
    made.spec({ other: rolled() });
    expect(Object.keys(made.state.figures ?? {})).toEqual(["other"]);
  });
});
