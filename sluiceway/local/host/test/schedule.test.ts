import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Schedule } from "../schedule.ts";

let fired: string[];
let schedule: Schedule;

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse("2026-07-01T10:00:30Z") });
  vi.spyOn(process.stderr, "write").mockReturnValue(true);
  fired = [];
  schedule = new Schedule(async (script, cron, time) => {
    fired.push(`${script} ${cron} ${time.toISOString().slice(0, 16)}`);
    if (script === "fails") throw new Error("on purpose");
  });
});

afterEach(() => {
  schedule.stop();
  vi.useRealTimers();
  vi.restoreAllMocks();
});

it("fires each cron once at each of its times", async () => {
  schedule.set([
    { name: "a", crons: ["* * * * *"] },
    { name: "b", crons: ["*/2 * * * *"] },
  ]);
  await vi.advanceTimersByTimeAsync(29_999);
  expect(fired).toEqual([]);
  await vi.advanceTimersByTimeAsync(90_001);
  expect(fired).toEqual([
    "a * * * * * 2026-07-01T10:01",
    "a * * * * * 2026-07-01T10:02",
    "b */2 * * * * 2026-07-01T10:02",
  ]);
});

it("goes on after one failed, and leaves out one that can't be read", async () => {
  schedule.set([{ name: "fails", crons: ["* * * * *", "bad"] }]);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(fired).toHaveLength(2);
});

it("reaches a time that is further off than a timer can be", async () => {
  schedule.set([{ name: "a", crons: ["0 0 1 9 *"] }]);
  await vi.advanceTimersByTimeAsync(62 * 86_400_000);
  expect(fired).toEqual(["a 0 0 1 9 * 2026-09-01T00:00"]);
});

it("forgets the crons of before", async () => {
  schedule.set([{ name: "a", crons: ["* * * * *"] }]);
  schedule.set([]);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(fired).toEqual([]);
});
