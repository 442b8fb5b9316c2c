import { env } from "cloudflare:test";
import { describe, expect, it } from "vitest";
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
