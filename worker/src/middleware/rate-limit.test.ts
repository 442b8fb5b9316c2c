import { env } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { keyFor, pricedConfig, WatchedLedgers } from "../../test/support/budget.ts";
import { chatBody, errorOf, Stage } from "../../test/support/stage.ts";
import type { GatewayEnv } from "../env.ts";

const PATH = "/v1/chat/completions";

/** Notes under which key each request is counted. */
function counting(): { keys: string[]; binding: RateLimit } {
  const keys: string[] = [];
  return { keys, binding: { limit: async ({ key }) => ({ success: keys.push(key) > 0 }) } };
}

describe("rate limit", () => {
  it("answers 429 with Retry-After once the platform's limiter says no", async () => {
    const { RATE_LIMIT } = env as unknown as GatewayEnv;
    const stage = new Stage({}, { RATE_LIMIT });
    const answers: Response[] = [];
    // More than two windows' worth, so that a window that ends meanwhile changes nothing.
    for (let i = 0; i < 11; i++) answers.push(await stage.chat());
    expect(answers.slice(0, 5).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    const refused = answers.find(({ status }) => status !== 200) as Response;
    expect(refused.status).toBe(429);
    expect(refused.headers.get("retry-after")).toBe("60");
    expect(await errorOf(refused)).toMatchObject({ type: "rate_limit_error", code: "rate_limit_exceeded" });
  });

  it("counts by key, whatever address the caller claims", async () => {
    const { keys, binding } = counting();
    const stage = new Stage({}, { RATE_LIMIT: binding });
    await stage.chat({}, { "x-forwarded-for": "1.1.1.1", "cf-connecting-ip": "1.1.1.1" });
    await stage.chat({}, { "x-forwarded-for": "2.2.2.2", "cf-connecting-ip": "2.2.2.2" });
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).not.toContain("test-key");
  });

  it("counts by the edge's address where no key is asked for", async () => {
    const { keys, binding } = counting();
    const stage = new Stage({ auth: { required: false } }, { RATE_LIMIT: binding });
    await stage.chat({}, { "cf-connecting-ip": "1.1.1.1" });
    await stage.chat({}, { "cf-connecting-ip": "2.2.2.2" });
    await stage.chat({}, { "cf-connecting-ip": "::ffff:2.2.2.2" });
    expect(keys).toEqual(["ip 1.1.1.1", "ip 2.2.2.2", "ip 2.2.2.2"]);
  });

  it("gw_12 lets five a minute in from one address, whatever the client says of it, and as many from another", async () => {
    const { RATE_LIMIT } = env as unknown as GatewayEnv;
    const isolates = [0, 1].map(() => new Stage({ auth: { required: false } }, { RATE_LIMIT }));
    // The platform's window ends with the clock's minute.
    const left = 60_000 - (Date.now() % 60_000);
    if (left < 5_000) await scheduler.wait(left);
    const passed = async (address: string, count: number) => {
      const answers = Array.from({ length: count }, (_, i) => {
        const claims = { "x-forwarded-for": `9.9.9.${i}`, forwarded: `for=9.9.9.${i}`, "x-real-ip": `9.9.9.${i}` };
        return (isolates[i % 2] as Stage).chat({}, { "cf-connecting-ip": address, ...claims });
      });
      return (await Promise.all(answers)).filter(({ status }) => status === 200).length;
    };
    expect(await passed("203.0.113.1", 10)).toBe(5);
    expect(await passed("203.0.113.2", 20)).toBe(5);
    expect(await passed("::ffff:203.0.113.2", 2)).toBe(0);
    expect(await passed("2001:db8:7:1::1", 3)).toBe(3);
    expect(await passed("2001:db8:7:1:ffff::2", 4)).toBe(2);
  }, 30_000);

  it("lets no caller far from the limit wait, counts each request, and heeds a no from the next request on", async () => {
    let asked = 0;
    let success = true;
    const answers: (() => void)[] = [];
    const limit = async () => {
      if (++asked > 1) await new Promise<void>((resolve) => answers.push(resolve));
      return { success };
    };
    const limits = { body_bytes: 1_048_576, requests: 100, period: 60 };
    const stage = new Stage({ limits }, { RATE_LIMIT: { limit } });
    const send = () => stage.send({ path: PATH, body: chatBody() });
    expect((await send()).status).toBe(200);
    // These are answered though the limiter is silent.
    for (let i = 0; i < 3; i++) expect((await send()).status).toBe(200);
    await expect.poll(() => asked).toBe(4);
    success = false;
    for (const answer of answers.splice(0)) answer();
    await scheduler.wait(10);
    const refused = send();
    await expect.poll(() => answers.length).toBe(1);
    answers[0]?.();
    expect((await refused).status).toBe(429);
  });

  it("lets requests pass when the limiter fails, and says so in the log", async () => {
    const broken: RateLimit = { limit: () => Promise.reject(new Error("limiter is down")) };
    const stage = new Stage({}, { RATE_LIMIT: broken });
    expect((await stage.ask({ path: PATH, body: chatBody() })).status).toBe(200);
    expect(stage.requestLogs[0]?.rate_limiter).toBe("failed");
  });

  it("doesn't count a caller without key", async () => {
    const { keys, binding } = counting();
    await new Stage({}, { RATE_LIMIT: binding }).ask({ path: PATH, body: chatBody(), headers: { authorization: "" } });
    expect(keys).toEqual([]);
  });
});

describe("requests a minute of a key", () => {
  const open = (name: string, ledgers = new WatchedLedgers()) => {
    const { keys, binding } = counting();
    const stage = new Stage(pricedConfig(name), { RATE_LIMIT: binding, LEDGER: ledgers.binding });
    return { keys, stage };
  };

  it("gw_12 stand in place of the stage's, and are counted exactly", async () => {
    const { keys, stage } = open("minute-exact");
    const { headers } = await keyFor("minute-exact", { requestsPerMinute: 8 });
    const answers: Response[] = [];
    for (let i = 0; i < 10; i++) answers.push(await stage.chat({}, { ...headers, "x-forwarded-for": `9.9.9.${i}` }));
    expect(answers.map(({ status }) => status)).toEqual([...Array(8).fill(200), 429, 429]);
    const refused = answers.at(-1) as Response;
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(50);
    expect(await errorOf(refused)).toMatchObject({
      ...{ code: "rate_limit_exceeded", message: "More than 8 requests in 60 seconds." },
    });
    expect(keys).toEqual([]);
    stage.ahead = 62_000;
    expect((await stage.chat({}, headers)).status).toBe(200);
  });

  it("count one key's requests against no other's", async () => {
    const { stage } = open("minute-apart");
    for (let i = 0; i < 3; i++) {
      const { headers } = await keyFor("minute-apart", { requestsPerMinute: 1 });
      expect((await stage.chat({}, headers)).status).toBe(200);
      expect((await stage.chat({}, headers)).status).toBe(429);
    }
  });

  it("ask nobody while a refusal lasts", async () => {
    const ledgers = new WatchedLedgers();
    const { stage } = open("minute-known", ledgers);
    const { headers } = await keyFor("minute-known", { requestsPerMinute: 1 });
    for (let i = 0; i < 20; i++) await stage.chat({}, headers);
    expect(ledgers.count("hit")).toBe(2);
  });

  it("let requests pass when they can't be counted, and the log says so", async () => {
    const ledgers = new WatchedLedgers();
    ledgers.before = () => Promise.reject(new Error("down"));
    const { stage } = open("minute-lost", ledgers);
    const { headers } = await keyFor("minute-lost", { requestsPerMinute: 1 });
    for (let i = 0; i < 3; i++) expect((await stage.chat({}, headers)).status).toBe(200);
    expect(stage.requestLogs.map((line) => line.rate_limiter)).toEqual(["failed", "failed", "failed"]);
  });
});
