import { expect, it } from "vitest";
import { dayOf, endOf, startOf } from "./periods.ts";

const at = (text: string) => Date.parse(text);

it.each([
  ["2026-11-30T23:59:59.999Z", "2026-11-30", "2026-12-01T00:00:00.000Z", "2026-11-01", "2026-12-01T00:00:00.000Z"],
  ["2026-12-31T12:00:00Z", "2026-12-31", "2027-01-01T00:00:00.000Z", "2026-12-01", "2027-01-01T00:00:00.000Z"],
  ["2028-02-28T00:00:00Z", "2028-02-28", "2028-02-29T00:00:00.000Z", "2028-02-01", "2028-03-01T00:00:00.000Z"],
  ["2026-06-01T01:00:00+09:00", "2026-05-31", "2026-06-01T00:00:00.000Z", "2026-05-01", "2026-06-01T00:00:00.000Z"],
])("%s is in the UTC day of %s and the month of %s", (now, day, nextDay, month, nextMonth) => {
  expect([dayOf(at(now)), startOf("day", at(now)), startOf("month", at(now))]).toEqual([day, day, month]);
  expect([endOf("day", at(now)), endOf("month", at(now))].map((end) => new Date(end).toISOString())).toEqual([
    nextDay,
    nextMonth,
  ]);
});
