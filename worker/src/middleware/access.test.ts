import { describe, expect, it } from "vitest";
import { chatBody, errorOf, KEY, Stage } from "../../test/support/stage.ts";
import { newKey } from "../access/key-text.ts";
import { makeKey } from "../access/keys.ts";
import { sha256Hex } from "../digest.ts";
import type { GatewayEnv } from "../env.ts";

const PATH = "/v1/chat/completions";

async function ask(headers: Record<string, string>): Promise<Response> {
  return new Stage().ask({ path: PATH, body: chatBody(), headers: { authorization: "", ...headers } });
}

describe("API key", () => {
  it.each([
    ["Authorization: Bearer", { authorization: `Bearer ${KEY}` }],
    ["a lower case scheme", { authorization: `bearer ${KEY}` }],
    ["X-API-Key", { "x-api-key": KEY }],
  ])("is taken as %s", async (_, headers) => {
    expect((await ask(headers)).status).toBe(200);
  });

  it("is refused in the same words whatever is wrong with it", async () => {
    const wrongs: Record<string, string>[] = [
      {},
      { authorization: "Bearer wrong" },
      { authorization: "Bearer " },
      { authorization: `Basic ${KEY}` },
      { authorization: KEY },
      { "x-api-key": `${KEY}x` },
      { "x-api-key": KEY.slice(0, -1) },
      { authorization: "Bearer wrong", "x-api-key": KEY },
    ];
    const answers = await Promise.all(
      wrongs.map(async (headers) => {
        const response = await ask(headers);
        const { request_id: _, ...error } = await errorOf(response);
        return JSON.stringify([response.status, response.headers.get("www-authenticate"), error]);
      }),
    );
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toContain("401");
    expect(answers[0]).toContain("invalid_api_key");
  });

  it("guards every endpoint but the health check", async () => {
    const stage = new Stage();
    const headers = { authorization: "" };
    for (const path of ["/v1/models", "/v1/models/chat", "/v1/models/intent/artifacts/1/model.onnx"]) {
      expect((await stage.ask({ path, headers })).status).toBe(401);
    }
    expect((await stage.ask({ path: "/", body: { prompt: "Hi" }, headers })).status).toBe(401);
    expect((await stage.ask({ path: "/healthz", headers })).status).toBe(200);
  });

  it("lets no one in when the stage has lost its secret", async () => {
    const response = await new Stage({}, { API_KEY: "" }).ask({
      path: PATH,
      body: chatBody(),
      headers: { authorization: "" },
    });
    expect(response.status).toBe(500);
    expect((await errorOf(response)).code).toBe("misconfigured");
  });

  it("is not asked for on a stage that is open", async () => {
    const stage = new Stage({ auth: { required: false } });
    expect((await stage.ask({ path: PATH, body: chatBody(), headers: { authorization: "" } })).status).toBe(200);
  });

  it("costs whoever makes keys up, and not those whose keys the isolate knows", async () => {
    let asked = 0;
    const real = newKey();
    const sha256 = await sha256Hex(real.text);
    const spec = { name: "app", owner: null, team: null, models: null, requestsPerMinute: null };
    const known = makeKey(real.id, { ...spec, tokensPerMinute: null, budgets: [], expiresAt: null }, sha256, 0);
    const ring = { lookup: async (id: string) => (++asked && id === real.id ? known : null) };
    const stage = new Stage({}, { KEYS: { getByName: () => ring } as unknown as GatewayEnv["KEYS"] });
    const from = async (address: string, text: string) => {
      const headers = { authorization: `Bearer ${text}`, "cf-connecting-ip": address };
      return stage.ask({ path: "/v1/models", headers });
    };
    expect((await from("192.0.2.1", real.text)).status).toBe(200);
    for (let made = 0; made < 100; made++) expect((await from("192.0.2.1", newKey().text)).status).toBe(401);
    const refused = await from("192.0.2.1", newKey().text);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(asked).toBe(101);
    expect((await from("192.0.2.1", real.text)).status).toBe(200);
    expect((await from("192.0.2.1", KEY)).status).toBe(200);
    expect((await from("192.0.2.2", newKey().text)).status).toBe(401);
    stage.ahead = 61_000;
    expect((await from("192.0.2.1", newKey().text)).status).toBe(401);
  });
});
