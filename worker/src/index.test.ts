import { createExecutionContext, createScheduledController, env } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { stageConfig } from "../test/support/stage.ts";
import { createGateway, type GatewayEnv } from "./index.ts";

describe("createGateway", () => {
  it("refuses a faulty config at once, so that the upload fails and not the requests", () => {
    expect(() => createGateway(JSON.stringify(stageConfig({ cache: {} })))).toThrow("config.json: cache.enabled");
  });

  it("learns the live split on a cron", async () => {
    let asked = 0;
    const controller = { splits: async () => ({ revision: ++asked, weights: { chat: [[1, 100]] }, mirrors: {} }) };
    const bindings = { ...env, ROLLOUTS: { getByName: () => controller } } as unknown as GatewayEnv;
    const gateway = createGateway(JSON.stringify(stageConfig()));
    await gateway.scheduled?.(createScheduledController(), bindings, createExecutionContext());
    expect(asked).toBe(1);
  });
});
