import { describe, expect, it } from "vitest";
import { Standing } from "./standing.ts";

const LIMIT = { requests: 10, period: 60 };

/** Requests in a row that may go on at once, each with the limiter's yes. */
function goodOnes(standing: Standing, key: string, from: number, count: number): number {
  let good = 0;
  for (let i = 0; i < count; i++) {
    if (standing.isGood(key, from)) good++;
    standing.heard(key, from, true);
  }
  return good;
}

describe("a caller's standing", () => {
  it("is not good before the limiter has said so, nor once its word is old", () => {
    const standing = new Standing(LIMIT);
    expect(standing.isGood("a", 0)).toBe(false);
    standing.heard("a", 0, true);
    expect(standing.isGood("a", 999)).toBe(true);
    expect(standing.isGood("a", 1_000)).toBe(false);
    expect(standing.isGood("b", 999)).toBe(false);
  });

  it("ends with the limiter's no, and with its failure", () => {
    for (const word of [false, null]) {
      const standing = new Standing(LIMIT);
      standing.isGood("a", 0);
      standing.heard("a", 0, true);
      standing.heard("a", 1, word);
      expect(standing.isGood("a", 2)).toBe(false);
    }
  });

  it("ends at half of the limit, and begins again with the next period", () => {
    const standing = new Standing(LIMIT);
    expect(goodOnes(standing, "a", 0, 20)).toBe(3);
    expect(goodOnes(standing, "a", 59_999, 5)).toBe(0);
    expect(goodOnes(standing, "a", 60_000, 20)).toBe(4);
  });

  it("is kept of a bounded number of callers", () => {
    const standing = new Standing(LIMIT);
    standing.isGood("first", 0);
    standing.heard("first", 0, true);
    for (let i = 0; i < 10_000; i++) standing.isGood(`caller ${i}`, 0);
    expect(standing.isGood("first", 1)).toBe(false);
  });
});
