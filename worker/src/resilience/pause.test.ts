import { describe, expect, it } from "vitest";
import { jitter, pause } from "./pause.ts";

const SETTINGS = { base_ms: 100, cap_ms: 1_000 };
/** What waits for this long is ended by the test's own timeout. */
const BEYOND_TEST_MS = 60_000;

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
    setTimeout(() => client.abort("gone"), 10);
    await expect(pause(BEYOND_TEST_MS, client.signal)).rejects.toBe("gone");
    await expect(pause(BEYOND_TEST_MS, client.signal)).rejects.toBe("gone");
  });

  it("lasts as long as it should", async () => {
    const shorter = scheduler.wait(25).then(() => "a shorter wait");
    const paused = pause(30, new AbortController().signal).then(() => "the pause");
    expect(await Promise.race([paused, shorter])).toBe("a shorter wait");
    await paused;
  });
});
