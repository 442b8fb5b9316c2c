import { describe, expect, it } from "vitest";
import { edgeHeaders } from "../inside/edge.ts";
import { matches, parse } from "../inside/expression.ts";
import { Limiter } from "../inside/limit.ts";
import { compareRoutes, parsePattern, resolve } from "../inside/match.ts";
import { byPoint, keyPoint, override, pick } from "../inside/pick.ts";
import { EMPTY_TABLE, type LimitRule, type RouterTable } from "../inside/table.ts";

const facts = { host: "api.test", path: "/v1/Chat", query: "a=1", method: "POST", url: "http://api.test/v1/Chat?a=1" };

describe("a rule expression", () => {
  it.each([
    ["true", true],
    ['http.host eq "api.test"', true],
    ['http.host == "API.test"', false],
    ['lower(http.request.uri.path) eq "/v1/chat"', true],
    ['starts_with(http.request.uri.path, "/v1/") and http.request.method ne "GET"', true],
    ['not starts_with(http.request.uri.path, "/v1/")', false],
    ['ends_with(http.request.uri, "?a=1")', true],
    ['http.request.full_uri contains "Chat?"', true],
    ['http.request.method in {"PUT" "POST"}', true],
    // `and` binds tighter than `or`.
    ['http.host eq "api.test" or http.host eq "x" and http.host eq "y"', true],
    ['(http.host eq "api.test" or http.host eq "x") && !(http.request.uri.query == "a=1")', false],
    ['http.request.uri.path eq "quoted \\" and \\\\"', false],
  ])("%s is %s", (text, expected) => {
    expect(matches(parse(text), facts)).toBe(expected);
  });

  it.each([
    "",
    "http.host",
    'http.host eq "a" extra',
    'http.host eq "a',
    "ip.src eq 1.1.1.1",
    'http.host matches "a"',
    "(true",
    'http.host in {"a"',
    "starts_with(http.host)",
  ])("%j is refused", (text) => {
    expect(() => parse(text)).toThrow(SyntaxError);
  });
});

describe("the split", () => {
  const split = [
    { id: "new", percentage: 10 },
    { id: "old", percentage: 90 },
  ];

  it("gives each version its own part of the line", () => {
    expect([0, 9.99, 10, 99.99].map((point) => byPoint(split, point))).toEqual(["new", "new", "old", "old"]);
  });

  it("gives nothing to a version without a share, also at the very end", () => {
    const zero = [
      { id: "old", percentage: 99.9 },
      { id: "new", percentage: 0 },
    ];
    expect(byPoint(zero, 99.95)).toBe("old");
    expect(byPoint([{ id: "a", percentage: 0 }], 50)).toBeUndefined();
    expect(byPoint([], 0)).toBeUndefined();
  });

  it("spreads keys evenly", async () => {
    const points = await Promise.all(Array.from({ length: 4000 }, (_, n) => keyPoint(`user-${n}`)));
    for (const edge of [10, 50, 90]) expect(points.filter((point) => point < edge).length / 40).toBeCloseTo(edge, -0.9);
  });

  it("reads an override as a dictionary, for deployed versions only", async () => {
    const entry = { split, versions: ["new", "old", "spare"], subdomain: true, previews: true };
    expect(override('a="x", "w"="new"', "w", entry)).toBe("new");
    expect(override('w="spare"', "w", entry)).toBeUndefined();
    expect(override("w=new", "w", entry)).toBeUndefined();
    const headers = new Headers({ "cloudflare-workers-version-overrides": 'w="new"' });
    expect(await pick(entry, "w", headers, 0.99)).toBe("new");
    expect(await pick(entry, "w", new Headers(), 0.99)).toBe("old");
  });
});

describe("routes", () => {
  it("are ordered by host, then by path, wildcards last", () => {
    const patterns = [
      "*/*",
      "*.a.test/*",
      "x.a.test/*",
      "x.a.test/b*",
      "x.a.test/b",
      "*.b.a.test/*",
      "https://X.a.test/longer/*",
    ];
    const sorted = patterns.map((pattern) => parsePattern(pattern, "s")).sort(compareRoutes);
    expect(sorted.map((route) => route.host + route.path)).toEqual([
      "x.a.test/b",
      "x.a.test/longer/*",
      "x.a.test/b*",
      "x.a.test/*",
      "*.b.a.test/*",
      "*.a.test/*",
      "*/*",
    ]);
  });

  it("a wildcard host that begins with a dot leaves out the bare domain", () => {
    const table: RouterTable = {
      ...EMPTY_TABLE,
      routes: [parsePattern("*.a.test/*", "s")],
      workers: { s: { split: [{ id: "v", percentage: 100 }], versions: ["v"], subdomain: false, previews: false } },
    };
    expect(resolve(table, "x.a.test", "/").kind).toBe("worker");
    expect(resolve(table, "a.test", "/")).toMatchObject({ kind: "none", status: 522 });
  });
});

describe("the limiter", () => {
  const rule: LimitRule = {
    id: "r",
    zone: "test",
    expression: { op: "true" },
    headers: [],
    period: 10,
    requests: 2,
    timeout: 0,
    response: null,
  };
  const check = (limiter: Limiter, now: number, client = "c", one = rule) =>
    limiter.check([one], facts, () => client, now)?.retryAfter ?? 0;

  it("counts per client and lets pass again in the next window", () => {
    const limiter = new Limiter();
    expect([0, 1, 2].map((now) => check(limiter, now))).toEqual([0, 0, 10]);
    expect(check(limiter, 3, "other")).toBe(0);
    expect(check(limiter, 9_500)).toBe(1);
    expect(check(limiter, 10_000)).toBe(0);
  });

  it("blocks for the mitigation timeout, however short the window", () => {
    const limiter = new Limiter();
    const long = { ...rule, timeout: 60 };
    for (const now of [0, 1, 2]) check(limiter, now, "c", long);
    expect(check(limiter, 30_000, "c", long)).toBe(31);
    expect(check(limiter, 60_002, "c", long)).toBe(0);
  });

  it("leaves other zones alone", () => {
    const limiter = new Limiter();
    for (const now of [0, 1, 2, 3]) expect(check(limiter, now, "c", { ...rule, zone: "i.test" })).toBe(0);
  });
});

describe("edge headers", () => {
  it("append to a given chain of proxies, and keep what clients of Access and AI Gateway send", () => {
    const given = new Headers({
      "x-forwarded-for": "9.9.9.9",
      "cf-ray": "x",
      "cf-aig-metadata": "m",
      "cf-access-client-id": "i",
    });
    const headers = edgeHeaders(given, new URL("http://a.test/"), "1.2.3.4", "0123456789abcdef");
    expect(Object.fromEntries(headers)).toMatchObject({
      "x-forwarded-for": "9.9.9.9,1.2.3.4",
      "cf-connecting-ip": "1.2.3.4",
      "cf-ray": "0123456789abcdef-LOC",
      "cf-aig-metadata": "m",
      "cf-access-client-id": "i",
      "cf-visitor": '{"scheme":"http"}',
    });
  });
});
