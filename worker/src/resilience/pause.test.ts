import { describe, expect, it } from "vitest";
import { jitter, pause } from "./pause.ts";

const SETTINGS = { base_ms: 100, cap_ms: 1_000 };

describe("jitter", () => {
  it.each([
    [1, 100],
    [2, 200],
    [3, 400],
    [4, 800],
    [5, 1_000],
    [60, 1_000],
  ])("spreads retry %d over 0 to %d ms", (retry, bound) => {
    expect(jitter(SETTINGS, retry, 0)).toBe(0);
    expect(jitter(SETTINGS, retry, 0.5)).toBe(bound / 2);
    expect(jitter(SETTINGS, retry, 0.999)).toBeLessThan(bound);
  });
});

describe("pause", () => {
  it("ends at once when the client leaves", async () => {
    const client = new AbortController();
    const start = performance.now();
    setTimeout(() => client.abort("gone"), 10);
    await expect(pause(5_000, client.signal)).rejects.toBe("gone");
    expect(performance.now() - start).toBeLessThan(1_000);
    await expect(pause(5_000, client.signal)).rejects.toBe("gone");
  });

  it("lasts as long as it should", async () => {
    const start = performance.now();
    await pause(30, new AbortController().signal);
    expect(performance.now() - start).toBeGreaterThanOrEqual(25);
  });
});
