import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Collector } from "../../test/support/collector.ts";
import { answerWith, refuse } from "../../test/support/fake-ai.ts";
import { Stage, stageConfig } from "../../test/support/stage.ts";

type Json = Record<string, unknown>;

interface Answer extends Json {
  status: string;
  faults: string[];
  versions: { version: string; backend: string; state: string; detail: string | null }[];
}

const GPU = { backend: "openai", id: "llama", base_url: "https://gpu.test/v1", secret: "GPU_KEY" };
const gpu = (version: object = GPU) => ({
  models: { chat: { task: "chat", default: true, versions: { "1": version }, split: [[1, 100]] } },
});

async function look(stage: Stage, headers: Record<string, string> = {}) {
  const response = await stage.ask({ path: "/readyz", headers });
  return { code: response.status, body: (await response.json()) as Answer };
}

let servers: Collector;
beforeEach(() => {
  servers = new Collector();
});
afterEach(() => servers.stop());

describe("/readyz", () => {
  it("says each backend's state to who has the stage's key, and asks no model", async () => {
    const stage = new Stage();
    const { code, body } = await look(stage);
    expect(code).toBe(200);
    expect(body).toMatchObject({ status: "ready", release: "r-0123456789ab", worker_version: "11111111-test" });
    expect(body.versions).toEqual([
      { version: "chat@1", backend: "workers-ai", state: "ready", detail: null },
      { version: "chat@2", backend: "workers-ai", state: "ready", detail: null },
      { version: "intent@1", backend: "onnx", state: "not_served", detail: null },
    ]);
    expect(stage.ai.runs).toHaveLength(0);
    expect(servers.parcels).toHaveLength(0);
  });

  it.each(["", "Bearer wrong", "Bearer sk-slw-abc-def"])("says to all others (%j) the state alone", async (given) => {
    const { code, body } = await look(new Stage(), { authorization: given });
    expect([code, body]).toEqual([200, { status: "ready" }]);
  });

  it("tells details for the admin key too", async () => {
    const stage = new Stage({}, { ADMIN_KEY: "admin-key" });
    expect((await look(stage, { authorization: "Bearer admin-key" })).body.versions).toHaveLength(3);
  });

  it("is ready while a version outside every split lacks what it needs", async () => {
    const { models } = gpu({ backend: "workers-ai", id: "@cf/x" });
    const kept = { chat: { ...models.chat, versions: { ...models.chat.versions, "2": GPU } } };
    const { code, body } = await look(new Stage({ models: kept }));
    expect([code, body.status]).toEqual([200, "ready"]);
    expect(body.versions.map(({ state }) => state)).toEqual(["ready", "misconfigured"]);
  });

  it("is 503 when the only backend's circuit is open, until it answers again", async () => {
    const stage = new Stage({ ...gpu({ backend: "workers-ai", id: "@cf/x" }), cache: { enabled: false, ttl: 0 } });
    stage.ai.replyWith(refuse(500, 3043, "Internal server error"));
    for (let count = 0; count < 6; count += 1) await stage.chat();
    const { code, body } = await look(stage);
    expect([code, body.status, body.versions[0]?.state]).toEqual([503, "unready", "failing"]);
    stage.ahead = 20_000;
    stage.ai.replyWith(answerWith("well again"));
    expect((await stage.chat()).status).toBe(200);
    expect((await look(stage)).body.status).toBe("ready");
  });

  it("is degraded, not down, when one of two backends fails", async () => {
    const { models } = stageConfig() as { models: { chat: { versions: Json } } };
    models.chat.versions["2"] = GPU;
    servers.answer = () => new Response("bad gateway", { status: 502 });
    const { code, body } = await look(new Stage({ models }, { GPU_KEY: "k" } as object));
    expect([code, body.status]).toEqual([200, "degraded"]);
    expect(body.versions[1]).toMatchObject({ state: "unreachable", detail: "it answers with status 502" });
  });

  it("names a secret that a backend needs and that is not bound", async () => {
    const { code, body } = await look(new Stage(gpu()));
    expect(code).toBe(503);
    expect(body.versions[0]).toMatchObject({ state: "misconfigured", detail: "the secret GPU_KEY is not bound" });
    expect(servers.parcels).toHaveLength(0);
  });

  it("is 503 on a stage that lost its own key", async () => {
    const { API_KEY: _, ...env } = new Stage().env;
    const stage = new Stage();
    Object.assign(stage.env, { ...env, API_KEY: undefined });
    expect((await look(stage)).code).toBe(503);
  });

  it("asks an OpenAI-compatible server for its models, with its key, once in five seconds", async () => {
    const stage = new Stage(gpu(), { GPU_KEY: "gpu-secret" } as object);
    expect((await look(stage)).body.status).toBe("ready");
    await look(stage);
    expect(servers.parcels.map(({ url }) => url)).toEqual(["https://gpu.test/v1/models"]);
    expect(servers.parcels[0]?.headers.get("authorization")).toBe("Bearer gpu-secret");
    servers.answer = () => Promise.reject(new TypeError("no route to gpu.test"));
    expect((await look(stage)).body.status).toBe("ready");
    stage.ahead = 5_000;
    const { code, body } = await look(stage);
    expect([code, body.versions[0]?.detail]).toEqual([503, "no connection"]);
    expect(JSON.stringify(body)).not.toContain("gpu-secret");
  });

  it.each([
    [401, 503],
    [403, 503],
    // It is there, though it lists no models or is busy.
    [404, 200],
    [429, 200],
  ])("takes a server's %i as %i", async (theirs, ours) => {
    servers.answer = () => new Response(null, { status: theirs });
    expect((await look(new Stage(gpu(), { GPU_KEY: "k" } as object))).code).toBe(ours);
  });
});
