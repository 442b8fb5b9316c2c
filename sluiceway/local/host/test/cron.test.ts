import { describe, expect, it } from "vitest";
import texts from "../../../../tests/contract/cron.json" with { type: "json" };
import { nextTime, parseCron } from "../cron.ts";

function following(cron: string, from: string, times = 1): string[] {
  const parsed = parseCron(cron);
  const found: string[] = [];
  let at: number | null = Date.parse(from);
  for (let n = 0; n < times; n += 1) {
    at = nextTime(parsed, at);
    if (at === null) return [...found, "never"];
    found.push(new Date(at).toISOString().slice(0, 16));
  }
  return found;
}

describe("the next time of a cron", () => {
  it.each([
    ["* * * * *", "2026-07-01T10:00:30Z", ["2026-07-01T10:01"]],
    ["* * * * *", "2026-07-01T10:01:00Z", ["2026-07-01T10:02"]],
    ["*/30 * * * *", "2026-12-31T23:45:00Z", ["2027-01-01T00:00", "2027-01-01T00:30"]],
    [
      "5-10/2,50 1 * * *",
      "2026-07-01T00:00:00Z",
      ["2026-07-01T01:05", "2026-07-01T01:07", "2026-07-01T01:09", "2026-07-01T01:50"],
    ],
    [
      "10/20 * * * *",
      "2026-07-01T00:00:00Z",
      ["2026-07-01T00:10", "2026-07-01T00:30", "2026-07-01T00:50", "2026-07-01T01:10"],
    ],
    ["0 17 * * sun", "2026-07-01T00:00:00Z", ["2026-07-05T17:00"]],
    ["0 17 * * 1", "2026-07-01T00:00:00Z", ["2026-07-05T17:00"]],
    ["10 7 * * mon-fri", "2026-07-03T08:00:00Z", ["2026-07-06T07:10"]],
    ["0 0 L * *", "2028-02-01T00:00:00Z", ["2028-02-29T00:00", "2028-03-31T00:00"]],
    ["59 23 LW * *", "2026-05-01T00:00:00Z", ["2026-05-29T23:59"]],
    ["0 18 * * 6L", "2026-07-01T00:00:00Z", ["2026-07-31T18:00"]],
    ["0 0 1W * *", "2026-07-15T00:00:00Z", ["2026-08-03T00:00"]],
    ["0 0 * * MON#2", "2026-07-01T00:00:00Z", ["2026-07-13T00:00", "2026-08-10T00:00"]],
    ["0 0 13 * FRI", "2026-11-01T00:00:00Z", ["2026-11-06T00:00", "2026-11-13T00:00"]],
    ["59 23 wl * *", "2026-05-01T00:00:00Z", ["2026-05-29T23:59"]],
    ["0 0 15w * *", "2026-11-01T00:00:00Z", ["2026-11-16T00:00"]],
    ["0 0 * * L", "2026-11-01T00:00:00Z", ["2026-11-07T00:00", "2026-11-14T00:00"]],
    ["0 0 * * fril", "2026-11-01T00:00:00Z", ["2026-11-27T00:00"]],
    ["0 0 29 FEB *", "2026-07-01T00:00:00Z", ["2028-02-29T00:00"]],
  ])("%s after %s", (cron, from, expected) => {
    expect(following(cron, from, expected.length)).toEqual(expected);
  });

  it("is null for a day that no year has", () => {
    expect(following("0 0 31 2 *", "2026-07-01T00:00:00Z")).toEqual(["never"]);
  });
});

describe("a cron that can't be read", () => {
  it.each([
    ["* * * *", "4 fields"],
    ["60 * * * *", "minute"],
    ["* 24 * * *", "hour"],
    ["* * 0 * *", "day of month"],
    ["* * * 13 *", "month"],
    ["* * * * 0", "day of week"],
    ["*/0 * * * *", "step"],
    ["9-5 * * * *", "backwards"],
    ["1,,2 * * * *", "minute"],
    ["@daily", "1 fields"],
  ])("%s names the fault", (cron, words) => {
    expect(() => parseCron(cron)).toThrow(words);
  });
});

describe("every reader of crons", () => {
  it.each(texts.taken)("takes %s", (cron) => {
    expect(nextTime(parseCron(cron), Date.parse("2026-07-01T00:00:00Z"))).not.toBeNull();
  });

  it.each(texts.refused)("refuses %s", (cron) => {
    expect(() => parseCron(cron)).toThrow();
  });
});
