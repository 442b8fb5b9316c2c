import { describe, expect, it } from "vitest";
import { chatBody, errorOf, Stage } from "../../../test/support/stage.ts";
import type { SpendReport } from "../../budget/spend.ts";
import type { GatewayEnv } from "../../env.ts";

const ADMIN_KEY = "adm-test-0123456789-0123456789";
const headers = { authorization: `Bearer ${ADMIN_KEY}` };

/** A stage whose first chat version has a price of its own. */
function priced(bindings: Partial<GatewayEnv> = {}): Stage {
  const version = { backend: "workers-ai", id: "@cf/zai-org/glm-4.7-flash", price: { input: 100, output: 100 } };
  const models = { chat: { task: "chat", default: true, versions: { "1": version }, split: [[1, 100]] } };
  return new Stage({ stage: `spend-${crypto.randomUUID()}`, models }, { ADMIN_KEY, ...bindings });
}

describe("spend", () => {
  it("shows what each key has come to, under the id that the list of keys and the log have", async () => {
    const stage = priced();
    const body = { name: "app", team: "search" };
    const made = await stage.ask({ path: "/_sluiceway/keys", body, headers });
    const { id, key } = (await made.json()) as { id: string; key: string };
    const asked = { path: "/v1/chat/completions", body: chatBody(), headers: { authorization: `Bearer ${key}` } };
    expect((await stage.ask(asked)).status).toBe(200);
    const cost = stage.requestLogs.at(-1)?.cost_usd as number;
    expect(cost).toBeGreaterThan(0);
    await expect
      .poll(async () => (await stage.ask({ path: "/_sluiceway/spend", headers })).json() as Promise<SpendReport>, {
        timeout: 5_000,
      })
      .toMatchObject({
        month: { requests: 1, usd: expect.closeTo(cost, 9) },
        keys: [{ name: id, usd_month: expect.closeTo(cost, 9), requests: 1 }],
        teams: [{ name: "search" }],
      });
  });

  it("answers 503 when the ledger doesn't", async () => {
    const LEDGER = { getByName: () => ({ spend: () => Promise.reject(new Error("reset")) }) };
    const stage = priced({ LEDGER: LEDGER as unknown as GatewayEnv["LEDGER"] });
    const response = await stage.ask({ path: "/_sluiceway/spend", headers });
    expect([response.status, (await errorOf(response)).code]).toEqual([503, "ledger_unavailable"]);
  });
});
