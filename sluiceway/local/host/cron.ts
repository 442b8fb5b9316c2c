/**
 * Cron expressions as Cloudflare reads them: five fields in UTC; days of the week from 1 (Sunday) to 7 (Saturday);
 * `L`, `W`, `LW`, `nL` and `n#k` in the day fields; when both day fields are restricted, either may match.
 */

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

export class CronError extends Error {
  /** As Cloudflare numbers it. */
  readonly code = 10100;
}

interface Range {
  readonly name: string;
  readonly low: number;
  readonly high: number;
  readonly words: readonly string[];
}

const MINUTE: Range = { name: "minute", low: 0, high: 59, words: [] };
const HOUR: Range = { name: "hour", low: 0, high: 23, words: [] };
const DAY: Range = { name: "day of month", low: 1, high: 31, words: [] };
const MONTH: Range = { name: "month", low: 1, high: 12, words: MONTHS };
const WEEKDAY: Range = { name: "day of week", low: 1, high: 7, words: DAYS };

type DayTest = (date: Date) => boolean;

export interface Cron {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly day: DayTest;
}

function number(word: string, range: Range): number {
  const named = range.words.indexOf(word);
  const value = named >= 0 ? named + range.low : /^\d+$/.test(word) ? Number(word) : Number.NaN;
  if (!(value >= range.low && value <= range.high))
    throw new CronError(`${range.name}: "${word}" is not between ${range.low} and ${range.high}`);
  return value;
}

function part(text: string, range: Range): number[] {
  const [span = "", stepText, ...more] = text.split("/");
  const step = stepText === undefined ? 1 : Number(stepText);
  if (more.length > 0 || (stepText !== undefined && !/^[0-9]{1,2}$/.test(stepText)) || step < 1)
    throw new CronError(`${range.name}: "${text}" has a bad step`);
  const [from = "", to, ...rest] = span.split("-");
  if (rest.length > 0) throw new CronError(`${range.name}: "${text}" has more than one range`);
  const low = span === "*" ? range.low : number(from, range);
  const high =
    span === "*" ? range.high : to !== undefined ? number(to, range) : stepText === undefined ? low : range.high;
  if (low > high) throw new CronError(`${range.name}: "${text}" runs backwards`);
  return Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, at) => low + at * step);
}

function set(text: string, range: Range): Set<number> {
  return new Set(text.split(",").flatMap((one) => part(one, range)));
}

function lastDay(date: Date): number {
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
}

function weekday(date: Date): number {
  return date.getUTCDay() + 1;
}

/** The weekday nearest to a day of the month, without leaving the month. */
function nearestWeekday(date: Date, day: number): number {
  const on = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), day)).getUTCDay();
  if (on === 6) return day === 1 ? 3 : day - 1;
  if (on === 0) return day === lastDay(date) ? day - 2 : day + 1;
  return day;
}

function monthDayTest(text: string): DayTest {
  if (text === "L") return (date) => date.getUTCDate() === lastDay(date);
  if (text === "LW" || text === "WL") return (date) => date.getUTCDate() === nearestWeekday(date, lastDay(date));
  const [, near] = /^(\d+)W$/.exec(text) ?? [];
  if (near !== undefined) {
    const day = number(near, DAY);
    return (date) => day <= lastDay(date) && date.getUTCDate() === nearestWeekday(date, day);
  }
  const days = new Set(part(text, DAY));
  return (date) => days.has(date.getUTCDate());
}

function weekdayTest(text: string): DayTest {
  if (text === "L") return (date) => date.getUTCDay() === 6;
  const [, last] = /^(\w+)L$/.exec(text) ?? [];
  if (last !== undefined) {
    const day = number(last, WEEKDAY);
    return (date) => weekday(date) === day && date.getUTCDate() + 7 > lastDay(date);
  }
  const [, nth, count] = /^(\w+)#([1-5])$/.exec(text) ?? [];
  if (nth !== undefined) {
    const day = number(nth, WEEKDAY);
    return (date) => weekday(date) === day && Math.ceil(date.getUTCDate() / 7) === Number(count);
  }
  const days = new Set(part(text, WEEKDAY));
  return (date) => days.has(weekday(date));
}

function anyOf(text: string, one: (text: string) => DayTest): DayTest {
  const tests = text.split(",").map(one);
  return (date) => tests.some((test) => test(date));
}

/** Reads every form that the API takes (`api/cron.py`). Throws CronError, naming the field. */
export function parseCron(text: string): Cron {
  const fields = text.trim().toUpperCase().split(/\s+/);
  const [minute = "", hour = "", monthDay = "", month = "", weekDay = ""] = fields;
  if (fields.length !== 5) throw new CronError(`"${text}" has ${fields.length} fields, not 5`);
  const byMonth = anyOf(monthDay, monthDayTest);
  const byWeek = anyOf(weekDay, weekdayTest);
  const either = monthDay !== "*" && weekDay !== "*";
  const day: DayTest = either ? (date) => byMonth(date) || byWeek(date) : (date) => byMonth(date) && byWeek(date);
  return { minutes: set(minute, MINUTE), hours: set(hour, HOUR), months: set(month, MONTH), day };
}

const FAR_DAYS = 366 * 8;

/** First time strictly after `after` (both in ms since the epoch) at which the expression fires; null if it never does. */
export function nextTime(cron: Cron, after: number): number | null {
  const start = Math.floor(after / 60_000) * 60_000 + 60_000;
  const first = new Date(start);
  for (let days = 0; days < FAR_DAYS; days += 1) {
    const day = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth(), first.getUTCDate() + days));
    if (!cron.months.has(day.getUTCMonth() + 1) || !cron.day(day)) continue;
    const time = timeOfDay(cron, day.getTime(), start);
    if (time !== null) return time;
  }
  return null;
}

function timeOfDay(cron: Cron, midnight: number, start: number): number | null {
  for (let hour = 0; hour < 24; hour += 1) {
    if (!cron.hours.has(hour)) continue;
    for (let minute = 0; minute < 60; minute += 1) {
      const time = midnight + (hour * 60 + minute) * 60_000;
      if (cron.minutes.has(minute) && time >= start) return time;
    }
  }
  return null;
}
