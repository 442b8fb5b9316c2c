/** Days and months begin at midnight UTC, wherever caller and isolate are. */
export type Period = "day" | "month";

const DAY_MS = 86_400_000;
/** The day that was asked for last: nearly always today. */
let known = { day: Number.NaN, text: "" };

/** `2026-11-30`. */
export function dayOf(now: number): string {
  const day = Math.floor(now / DAY_MS);
  if (day !== known.day) known = { day, text: new Date(now).toISOString().slice(0, 10) };
  return known.text;
}

/** First day of the period that `now` is in, `2026-11-01`. */
export function startOf(period: Period, now: number): string {
  const day = dayOf(now);
  return period === "day" ? day : `${day.slice(0, 7)}-01`;
}

/** When the period that `now` is in ends, in milliseconds since the epoch. */
export function endOf(period: Period, now: number): number {
  const date = new Date(now);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return period === "day" ? Date.UTC(year, month, date.getUTCDate() + 1) : Date.UTC(year, month + 1, 1);
}
