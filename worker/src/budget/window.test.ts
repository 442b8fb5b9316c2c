import { describe, expect, it } from "vitest";
import { SlidingWindow } from "./window.ts";

const START = Date.parse("2026-11-30T12:00:00.700Z");

describe("SlidingWindow", () => {
  it("never has more than the limit in any sixty seconds", () => {
    const window = new SlidingWindow();
    const admitted: number[] = [];
    // Seeded steps of up to two seconds for a quarter of an hour.
    for (
      let now = START, seed = 7;
      now < START + 900_000;
      seed = (seed * 16_807) % 2_147_483_647, now += seed % 2_000
    ) {
      if (window.waitFor(now, 1, 10) === 0) {
        window.add(now, 1);
        admitted.push(now);
      }
    }
    const most = Math.max(...admitted.map((from) => admitted.filter((at) => at >= from && at < from + 60_000).length));
    expect(most).toBe(10);
    expect(admitted.length).toBeGreaterThan(120);
  });

  it("tells a wait after which it fits, and before which it doesn't", () => {
    const window = new SlidingWindow();
    window.add(START, 6);
    window.add(START + 10_000, 4);
    const wait = window.waitFor(START + 20_000, 5, 10);
    expect(wait).toBeGreaterThan(39);
    expect(window.waitFor(START + 20_000 + (wait - 1) * 1_000, 5, 10)).toBe(1);
    expect(window.waitFor(START + 20_000 + wait * 1_000, 5, 10)).toBe(0);
  });

  it("waits a whole minute for what fits an empty one alone", () => {
    const window = new SlidingWindow();
    window.add(START, 1);
    expect(window.waitFor(START, 10, 10)).toBe(61);
    expect(window.waitFor(START, 11, 10)).toBe(61);
  });

  it("corrects a second that is still in it, and no other", () => {
    const window = new SlidingWindow();
    const second = window.add(START, 100);
    window.correct(START + 30_000, second, -90);
    expect(window.total(START + 30_000)).toBe(10);
    window.add(START + 61_000, 5);
    window.correct(START + 61_000, second, 1_000);
    expect(window.total(START + 61_000)).toBe(5);
  });

  it("is empty after an hour, and counts on when a clock goes back", () => {
    const window = new SlidingWindow();
    window.add(START, 5);
    expect(window.total(START + 3_600_000)).toBe(0);
    window.add(START, 5);
    expect(window.total(START)).toBe(5);
  });
});
