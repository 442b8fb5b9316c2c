import { describe, expect, it } from "vitest";
import { modelsWith, rolloutSpec } from "../../test/support/rollout-spec.ts";
import { errorOf, Stage } from "../../test/support/stage.ts";
import type { GatewayEnv } from "../env.ts";
import { controllerOf } from "../rollout/port.ts";

const gates = [{ name: "feedback", margin: 0.05, slo: null, mode: "enforce" }] as const;
let stages = 0;

/** Two isolates of one stage. */
function setUp() {
  const name = `feedback-${++stages}`;
  const config = { stage: name, models: modelsWith(rolloutSpec({ gates })) };
  const [here, there] = [new Stage(config), new Stage(config)];
  const counts = async () => {
    const { models } = await controllerOf(here.env as GatewayEnv, { stage: name }).views();
    const gate = models.find(({ model }) => model === "chat")?.gates[0];
    return gate === undefined
      ? null
      : { requests: gate.stable.requests + gate.candidate.requests, bad: gate.stable.bad + gate.candidate.bad };
  };
  return { here, there, counts };
}

const rate = (stage: Stage, request_id: unknown, rating: unknown = "down", headers: Record<string, string> = {}) =>
  stage.ask({ path: "/v1/feedback", body: { request_id, rating }, headers });

async function served(stage: Stage, id: string, headers: Record<string, string> = {}): Promise<void> {
  const answer = await stage.chat({ model: "chat", user: id }, { "x-request-id": id, ...headers });
  expect(answer.status).toBe(200);
}

describe("POST /v1/feedback", () => {
  it("counts for the version that served the request, from another isolate too", async () => {
    const { here, there, counts } = setUp();
    await served(here, "request-1");
    await served(here, "request-2");
    const answer = await rate(there, "request-1");
    expect(await answer.json()).toEqual({ request_id: "request-1", rating: "down", counted: true });
    expect((await rate(here, "request-2", "up")).status).toBe(200);
    expect(await counts()).toEqual({ requests: 2, bad: 1 });
  });

  it("knows a request by the id of its completion too", async () => {
    const { here, counts } = setUp();
    const { id } = (await (await here.chat({ model: "chat", user: "a" })).json()) as { id: string };
    expect(id).toMatch(/^chatcmpl-/);
    expect((await rate(here, id)).status).toBe(200);
    expect((await counts())?.requests).toBe(1);
  });

  it("counts once a request", async () => {
    const { here, counts } = setUp();
    await served(here, "request-1");
    await rate(here, "request-1");
    const again = await rate(here, "request-1", "up");
    expect(await again.json()).toMatchObject({ counted: false });
    expect(await counts()).toEqual({ requests: 1, bad: 1 });
  });

  it("is about a request of the caller's own", async () => {
    const { here, counts } = setUp();
    await served(here, "request-1");
    const stranger = new Stage(
      { stage: `feedback-${stages}`, models: modelsWith(rolloutSpec({ gates })) },
      { API_KEY: "another" },
    );
    const answer = await rate(stranger, "request-1", "down", { authorization: "Bearer another" });
    expect([answer.status, (await errorOf(answer)).code]).toEqual([404, "request_not_found"]);
    expect(await counts()).toEqual({ requests: 0, bad: 0 });
  });

  it("is nothing to a request that named its version, or that nobody has sent", async () => {
    const { here } = setUp();
    await here.chat({ model: "chat@2" }, { "x-request-id": "request-1" });
    for (const id of ["request-1", "request-9", "' OR 1=1 --"]) {
      const answer = await rate(here, id);
      expect([answer.status, (await errorOf(answer)).code]).toEqual([404, "request_not_found"]);
    }
  });

  it.each([
    [{ rating: "up" }, "request_id"],
    [{ request_id: 3, rating: "up" }, "request_id"],
    [{ request_id: "x".repeat(200), rating: "up" }, "request_id"],
    [{ request_id: "request-1" }, "rating"],
    [{ request_id: "request-1", rating: 5 }, "rating"],
  ])("refuses %j", async (body, param) => {
    const { here } = setUp();
    const answer = await here.ask({ path: "/v1/feedback", body });
    expect([answer.status, (await errorOf(answer)).param]).toEqual([400, param]);
  });

  it("is for those who may call the stage", async () => {
    const { here } = setUp();
    expect((await rate(here, "request-1", "up", { authorization: "Bearer wrong" })).status).toBe(401);
    expect((await here.ask({ path: "/v1/feedback" })).status).toBe(405);
  });
});
