import { describe, expect, it } from "vitest";
import { type Limit, leaseFor, limitsOver, percentDue, type Sums } from "./core.ts";

const DAY: Limit = { period: "day", nanos: 1_000 };
const MONTH: Limit = { period: "month", nanos: 5_000 };
const sums = (changes: Partial<Sums> = {}): Sums => ({ day: 0, month: 0, held: 0, idle: 0, ...changes });

describe("limitsOver", () => {
  it("gw_16 admits what fits together with what is spent and held", () => {
    expect(limitsOver([DAY], sums({ day: 400, month: 400, held: 200 }), 400)).toEqual([]);
    expect(limitsOver([DAY], sums({ day: 400, month: 400, held: 200 }), 401)).toEqual([
      { index: 0, spent: 400, held: 200 },
    ]);
  });

  it("names each limit that is broken", () => {
    expect(limitsOver([DAY, MONTH], sums({ day: 0, month: 4_900 }), 200)).toEqual([
      { index: 1, spent: 4_900, held: 0 },
    ]);
    expect(limitsOver([DAY, MONTH], sums({ day: 950, month: 4_900 }), 200)).toHaveLength(2);
  });

  it("admits nothing that costs to a budget of nothing", () => {
    expect(limitsOver([{ period: "day", nanos: 0 }], sums(), 1)).toHaveLength(1);
  });
});

describe("leaseFor", () => {
  const large: Limit = { period: "day", nanos: 1_000_000 };

  it("gives what is wanted while the remainder is large", () => {
    expect(leaseFor([large], sums(), 2_000, 10)).toBe(2_000);
  });

  it("gives at most a sixteenth of what is left", () => {
    expect(leaseFor([large], sums(), 900_000, 10)).toBe(62_500);
  });

  it("gives nothing when that would carry few requests", () => {
    expect(leaseFor([DAY], sums(), 2_000, 20)).toBe(0);
    expect(leaseFor([large], sums({ day: 999_000 }), 2_000, 20)).toBe(0);
  });

  it("never lets quiet isolates hold more than a quarter of what is left", () => {
    let idle = 0;
    for (let isolate = 0; isolate < 100; isolate++) idle += leaseFor([large], sums({ held: idle, idle }), 1e9, 10);
    expect(idle).toBeLessThanOrEqual(250_000);
    expect(idle).toBeGreaterThan(200_000);
  });

  it("goes by the tightest limit, and gives nothing without one", () => {
    expect(leaseFor([large, { period: "month", nanos: 1_600 }], sums(), 1e9, 1)).toBe(100);
    expect(leaseFor([], sums(), 1e9, 1)).toBe(0);
    expect(leaseFor([large], sums({ day: 2_000_000 }), 1e9, 1)).toBe(0);
  });
});

describe("percentDue", () => {
  it("knows no share of nothing", () => {
    expect(percentDue({ period: "day", nanos: 0 }, sums(), true)).toBeNull();
  });

  it.each([
    [499, false, null],
    [500, false, 50],
    [799, false, 50],
    [800, false, 80],
    [999, false, 80],
    [1_000, false, 100],
    [1_200, false, 100],
    // A request must fit whole, so the last cents are seldom spent.
    [900, true, 100],
    [100, true, null],
  ])("of %d spent, refused %s, is %s", (spent, refused, percent) => {
    expect(percentDue(DAY, sums({ day: spent }), refused)).toBe(percent);
  });
});
