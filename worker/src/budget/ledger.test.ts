import {
  abortAllDurableObjects,
  env,
  evictDurableObject,
  runDurableObjectAlarm,
  runInDurableObject,
} from "cloudflare:test";
import { describe, expect, it } from "vitest";
import type { GatewayEnv } from "../env.ts";
import type { Ledger } from "./ledger.ts";
import { type Ask, type Batch, IDLE_MS, type LedgerPort, type Report, type SpendLine, type Terms } from "./protocol.ts";

const namespace = (env as unknown as GatewayEnv).LEDGER;
const NOW = Date.parse("2026-11-30T12:00:00Z");
const MINUTE = 60_000;
const TERMS: Terms = { limits: [{ period: "day", nanos: 1_000 }], alerts: null };
const LARGE: Terms = { limits: [{ period: "month", nanos: 1_000_000 }], alerts: null };

let ids = 0;
const stubOf = (name: string) => namespace.getByName(name);
const ledger = (name: string) => stubOf(name) as unknown as LedgerPort;
const ask = (nanos: number, changes: Partial<Ask> = {}): Ask => ({
  ...{ id: `r-${++ids}`, now: NOW, nanos, until: NOW + 20 * MINUTE, tokens: 0, tokensPerMinute: null, terms: TERMS },
  ...changes,
});
const line = (nanos: number, changes: Partial<SpendLine> = {}): SpendLine => ({
  ...{ day: "2026-11-30", key: "k", team: "", model: "chat@1", requests: 1, nanos, prompt: 5, completion: 7 },
  ...changes,
});
const batch = (sequence: number, changes: Partial<Batch> = {}): Batch => ({
  ...{ sequence, lines: [], ended: [], corrections: [] },
  ...changes,
});
const report = (version: number, changes: Partial<Report> = {}): Report => ({
  ...{ isolate: "a", version, now: NOW, batch: null, busy: 0, idle: 0, want: 0, each: 10, terms: LARGE },
  ...changes,
});

describe("Ledger", () => {
  it("gw_16 admits of twenty at once the two that the budget holds", async () => {
    const port = ledger("twenty");
    const verdicts = await Promise.all(Array.from({ length: 20 }, () => port.reserve(ask(400))));
    expect(verdicts.filter(({ admitted }) => admitted)).toHaveLength(2);
    expect(verdicts.find(({ admitted }) => !admitted)).toEqual({
      admitted: false,
      over: [{ index: 0, spent: 0, held: 800 }],
    });
  });

  it("gw_16 has room again for what a failed request held, and counts what another one came to", async () => {
    const port = ledger("ends");
    const [failed, answered] = [ask(400), ask(400)];
    await port.reserve(failed);
    await port.reserve(answered);
    await port.report(report(1, { batch: batch(1, { ended: [failed.id, answered.id], lines: [line(250)] }) }));
    expect((await port.reserve(ask(751))).admitted).toBe(false);
    expect((await port.reserve(ask(750))).admitted).toBe(true);
    expect((await port.spend(NOW)).day).toMatchObject({ usd: 250e-9, requests: 1 });
  });

  it("counts a batch once, however often it comes", async () => {
    const port = ledger("repeats");
    const same = batch(1, { lines: [line(100)] });
    for (let version = 1; version <= 3; version++) await port.report(report(version, { batch: same }));
    await port.report(report(4, { batch: batch(2, { lines: [line(10)] }) }));
    await port.report(report(5, { batch: same }));
    await port.report(report(1, { isolate: "b", batch: batch(1, { lines: [line(1)] }) }));
    expect((await port.spend(NOW)).day).toMatchObject({ usd: 111e-9, requests: 3 });
  });

  it("changes no lease by a report that was overtaken, but books what it brings", async () => {
    const port = ledger("overtaken");
    await port.report(report(2, { busy: 900, terms: TERMS }));
    await port.report(report(1, { busy: 0, terms: TERMS, batch: batch(1, { lines: [line(5)] }) }));
    expect(await port.reserve(ask(96))).toEqual({ admitted: false, over: [{ index: 0, spent: 5, held: 900 }] });
    expect((await port.reserve(ask(95))).admitted).toBe(true);
  });

  it("holds leases, and gives what they have for requests to come to others when an isolate is not heard of", async () => {
    const port = ledger("leases");
    const { granted } = await port.report(report(1, { busy: 100_000, want: 50_000 }));
    expect(granted).toBe(50_000);
    const terms = LARGE;
    expect((await port.reserve(ask(850_001, { terms }))).admitted).toBe(false);
    expect((await port.reserve(ask(850_001, { terms, now: NOW + IDLE_MS - 1 }))).admitted).toBe(false);
    expect((await port.reserve(ask(900_001, { terms, now: NOW + IDLE_MS }))).admitted).toBe(false);
    expect((await port.reserve(ask(900_000, { terms, now: NOW + IDLE_MS }))).admitted).toBe(true);
  });

  it("lets go of what dead isolates held", async () => {
    const port = ledger("dead");
    await port.report(report(1, { busy: 500, terms: TERMS }));
    await port.reserve(ask(500));
    expect((await port.reserve(ask(1, { now: NOW + 19 * MINUTE }))).admitted).toBe(false);
    const later = NOW + 31 * MINUTE;
    expect((await port.reserve(ask(1_000, { now: later, until: later + MINUTE }))).admitted).toBe(true);
  });

  it("books what a request came to also when its hold had run out", async () => {
    const port = ledger("late");
    const slow = ask(500);
    await port.reserve(slow);
    const now = NOW + 40 * MINUTE;
    await port.report(report(1, { now, batch: batch(1, { ended: [slow.id], lines: [line(600)] }) }));
    expect((await port.spend(now)).day.usd).toBe(600e-9);
  });

  it("begins anew with the day and the month in UTC, where holds go on", async () => {
    const port = ledger("periods");
    const both: Terms = { limits: [...TERMS.limits, { period: "month", nanos: 1_500 }], alerts: null };
    await port.report(report(1, { batch: batch(1, { lines: [line(900, { day: "2026-11-29" }), line(100)] }) }));
    expect((await port.reserve(ask(501, { terms: both }))).admitted).toBe(false);
    expect((await port.reserve(ask(500, { terms: both }))).admitted).toBe(true);
    const december = Date.parse("2026-12-01T00:00:00Z");
    const first = ask(500, { now: december, until: december + MINUTE, terms: both });
    expect((await port.reserve(first)).admitted).toBe(true);
    expect((await port.spend(december)).month).toMatchObject({ usd: 0, start: "2026-12-01" });
  });

  it("keeps books and holds over an eviction", async () => {
    const port = ledger("evicted");
    await port.reserve(ask(600));
    await port.report(report(1, { batch: batch(1, { lines: [line(300)] }) }));
    await evictDurableObject(stubOf("evicted"));
    expect(await port.reserve(ask(101))).toEqual({ admitted: false, over: [{ index: 0, spent: 300, held: 600 }] });
    await port.report(report(2, { batch: batch(1, { lines: [line(300)] }) }));
    expect((await port.spend(NOW)).day.usd).toBe(300e-9);
  });

  it("counts tokens a minute as asked for, then as they came", async () => {
    const port = ledger("tokens");
    const terms: Terms = { limits: [], alerts: null };
    const of = (tokens: number, now = NOW) => ask(0, { tokens, tokensPerMinute: 1_000, terms, now });
    const first = await port.reserve(of(900));
    expect(await port.reserve(of(200))).toEqual({ admitted: false, wait: 61 });
    const second = "second" in first ? first.second : 0;
    await port.report(report(1, { terms, batch: batch(1, { corrections: [[second, -850]] }) }));
    expect((await port.reserve(of(950))).admitted).toBe(true);
    expect((await port.reserve(of(1_000, NOW + 61_000))).admitted).toBe(true);
  });

  it("gw_12 counts requests a minute exactly", async () => {
    const port = ledger("hits");
    const waits = await Promise.all(Array.from({ length: 20 }, () => port.hit(NOW, 5)));
    expect(waits.filter((wait) => wait === 0)).toHaveLength(5);
    expect(Math.max(...waits)).toBe(61);
    expect(await port.hit(NOW + 61_000, 5)).toBe(0);
  });

  it("gw_12 counts on after it was put away for being idle", async () => {
    // A stub made before a crash stays broken after it.
    const port = () => ledger("put-away");
    const terms: Terms = { limits: [], alerts: null };
    const now = Date.now();
    expect(await port().hit(now, 1)).toBe(0);
    expect((await port().reserve(ask(0, { now, terms, tokens: 900, tokensPerMinute: 1_000 }))).admitted).toBe(true);
    await abortAllDurableObjects();
    expect(await port().hit(now + 20_000, 1)).toBeGreaterThan(40);
    const refused = ask(0, { now: now + 20_000, terms, tokens: 200, tokensPerMinute: 1_000 });
    expect((await port().reserve(refused)).admitted).toBe(false);
  });

  it("leaves nothing behind when it only counted a minute that is over", async () => {
    const size = () => runInDurableObject(stubOf("swept"), (_: Ledger, { storage: { sql } }) => sql.databaseSize);
    const port = () => ledger("swept");
    await port().hit(Date.now(), 5);
    expect(await runDurableObjectAlarm(stubOf("swept"))).toBe(true);
    expect(await port().hit(Date.now(), 1)).toBeGreaterThan(0);
    await runInDurableObject(stubOf("swept"), (_: Ledger, { storage: { sql } }) => {
      sql.exec("UPDATE seconds SET second = second - 70");
    });
    await abortAllDurableObjects();
    const before = await size();
    expect(await runDurableObjectAlarm(stubOf("swept"))).toBe(true);
    expect(await size()).toBeLessThan(before);
    expect(await port().hit(Date.now(), 1)).toBe(0);
    expect((await port().spend(NOW)).day.requests).toBe(0);
  });

  it("keeps its books when its minute is over", async () => {
    const port = ledger("kept");
    await port.report(report(1, { batch: batch(1, { lines: [line(10)] }) }));
    await port.hit(Date.now() - 120_000, 5);
    await runDurableObjectAlarm(stubOf("kept"));
    expect((await port.spend(NOW)).day.requests).toBe(1);
  });

  it("tells who spent it, and on what", async () => {
    const port = ledger("told");
    const yesterday = line(1_000, { day: "2026-11-29", key: "k2", team: "search", model: "chat@2" });
    await port.report(report(1, { batch: batch(1, { lines: [line(10), line(20, { model: "chat@2" }), yesterday] }) }));
    const spend = await port.spend(NOW);
    expect(spend.day).toEqual({ start: "2026-11-30", resets_at: "2026-12-01T00:00:00.000Z", usd: 30e-9, requests: 2 });
    expect(spend.month).toMatchObject({ start: "2026-11-01", usd: 1_030e-9, requests: 3 });
    expect(spend.keys.map(({ name, usd_day, usd_month }) => [name, usd_day, usd_month])).toEqual([
      ["k2", 0, 1_000e-9],
      ["k", 30e-9, 30e-9],
    ]);
    expect(spend.teams).toEqual([
      { name: "search", usd_day: 0, usd_month: 1_000e-9, requests: 1, prompt_tokens: 5, completion_tokens: 7 },
    ]);
    expect(spend.models.map(({ name, requests }) => [name, requests])).toEqual([
      ["chat@2", 2],
      ["chat@1", 1],
    ]);
  });

  it("forgets what is long over", async () => {
    const port = ledger("old");
    await port.reserve(ask(10));
    await port.report(report(1, { batch: batch(1, { lines: [line(10)] }) }));
    const now = NOW + 70 * 86_400_000;
    await port.report(report(1, { isolate: "b", now }));
    const counts = await runInDurableObject(stubOf("old"), (_: Ledger, { storage: { sql } }) =>
      ["days", "lines", "holds", "isolates"].map((table) => sql.exec(`SELECT COUNT(*) AS n FROM ${table}`).one().n),
    );
    expect(counts).toEqual([0, 0, 0, 1]);
  });
});
