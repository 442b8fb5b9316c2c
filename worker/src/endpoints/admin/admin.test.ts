import { describe, expect, it } from "vitest";
import { chatBody, errorOf, KEY, Stage } from "../../../test/support/stage.ts";
import type { GatewayEnv } from "../../env.ts";

const ADMIN = "adm-test-0123456789-0123456789";

type Json = Record<string, unknown>;
interface MadeKey extends Json {
  key: string;
  id: string;
}

let stages = 0;

/** A stage with a ring of its own and an admin key. */
function adminStage(bindings: Partial<GatewayEnv> = {}, changes: Json = {}): Stage {
  return new Stage({ stage: `admin-${++stages}`, ...changes }, { ADMIN_KEY: ADMIN, ...bindings });
}

function call(stage: Stage, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const authorization = `Bearer ${ADMIN}`;
  return stage.ask({ method, path: `/_sluiceway${path}`, body, headers: { authorization, ...headers } });
}

async function make(stage: Stage, body: Json = {}): Promise<MadeKey> {
  const response = await call(stage, "POST", "/keys", { name: "app", ...body });
  expect(response.status).toBe(201);
  return response.json();
}

const chatWith = (stage: Stage, key: string, body: Json = {}) =>
  stage.ask({ path: "/v1/chat/completions", body: chatBody(body), headers: { authorization: `Bearer ${key}` } });

describe("admin endpoints", () => {
  it("are as good as absent on a stage without an admin key", async () => {
    for (const ADMIN_KEY of [undefined, "", "  "]) {
      const stage = adminStage(ADMIN_KEY === undefined ? { ADMIN_KEY: undefined as never } : { ADMIN_KEY });
      for (const authorization of [`Bearer ${ADMIN}`, `Bearer ${KEY}`, "", "Bearer ", "Bearer undefined"]) {
        const response = await call(stage, "GET", "/keys", undefined, { authorization });
        expect([response.status, (await errorOf(response)).code]).toEqual([404, "not_found"]);
      }
    }
  });

  it("refuse every other credential, the callers' own among them, in the same words", async () => {
    const stage = adminStage();
    const { key } = await make(stage);
    const answers = new Set<string>();
    for (const authorization of [
      "",
      "Bearer ",
      `Bearer ${KEY}`,
      `Bearer ${key}`,
      `Bearer ${ADMIN}x`,
      `Basic ${ADMIN}`,
      ADMIN,
    ]) {
      for (const [method, path] of [
        ["GET", "/keys"],
        ["POST", "/keys"],
        ["GET", "/nowhere"],
        ["POST", "/keys/x/revoke"],
      ] as const) {
        const response = await call(stage, method, path, undefined, { authorization });
        const { request_id: _, ...error } = await errorOf(response);
        answers.add(JSON.stringify([response.status, error, response.headers.get("cache-control")]));
      }
    }
    expect([...answers]).toEqual([expect.stringMatching(/^\[401,.*invalid_admin_key.*"no-store"\]$/)]);
    expect(stage.requestLogs.at(-1)?.refusal).toBe("admin_key");
  });

  it.each([
    ["too short", "short"],
    ["the callers' key", KEY.padEnd(30, "x")],
  ])("are opened by no key that is %s", async (_, ADMIN_KEY) => {
    const stage = adminStage({ ADMIN_KEY, API_KEY: KEY.padEnd(30, "x") });
    const response = await call(stage, "GET", "/keys", undefined, { authorization: `Bearer ${ADMIN_KEY}` });
    expect([response.status, (await errorOf(response)).code]).toEqual([500, "misconfigured"]);
  });

  it("gw_20 are off CORS: no page of any origin may call or read them", async () => {
    const stage = adminStage({}, { cors: { origins: ["*"], max_age: 600 } });
    const headers = { origin: "http://localhost:3000", "access-control-request-method": "GET" };
    const answers = [
      await call(stage, "OPTIONS", "/keys", undefined, { ...headers, authorization: "" }),
      await call(stage, "GET", "/keys", undefined, headers),
      await call(stage, "GET", "/keys", undefined, { ...headers, authorization: "" }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 200, 401]);
    for (const { headers } of answers) {
      expect([...headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
    }
  });

  it("count against no caller's limit, and are kept by no cache", async () => {
    let counted = 0;
    const RATE_LIMIT: RateLimit = { limit: async () => ({ success: ++counted < 0 }) };
    const response = await call(adminStage({ RATE_LIMIT }), "GET", "/keys");
    expect([response.status, response.headers.get("cache-control"), counted]).toEqual([200, "no-store", 0]);
  });

  it("answer 404 for what they don't have, and cap the body", async () => {
    const stage = adminStage();
    expect((await call(stage, "GET", "/nowhere")).status).toBe(404);
    expect((await call(stage, "DELETE", "/keys")).status).toBe(404);
    expect((await call(stage, "POST", "/keys", { name: "x".repeat(70_000) })).status).toBe(413);
  });
});

describe("keys", () => {
  it("are shown once, open the stage, and are named in its log", async () => {
    const stage = adminStage();
    const { key, ...made } = await make(stage, {
      ...{ owner: "ann", team: "search", models: ["chat"], requests_per_minute: 60, tokens_per_minute: 9_000 },
      ...{ budgets: [{ period: "day", usd: 5 }], expires_in: 3_600 },
    });
    expect(key).toMatch(/^sk-slw-[0-9a-z]{12}-/);
    expect((await chatWith(stage, key)).status).toBe(200);
    expect(stage.requestLogs.at(-1)).toMatchObject({ key_id: made.id, via: "key" });
    const listed = (await (await call(stage, "GET", "/keys")).json()) as Json;
    expect(listed).toEqual({ data: [made], next: null });
    expect(made).toMatchObject({
      ...{ name: "app", owner: "ann", team: "search", models: ["chat"], state: "active" },
      ...{ requests_per_minute: 60, tokens_per_minute: 9_000, revoked_at: null, old_secret_until: null },
      budgets: [{ period: "day", usd: 5, fall_to: null }],
    });
    expect(await (await call(stage, "GET", `/keys/${made.id}`)).json()).toEqual(made);
    expect(JSON.stringify([listed, stage.logs])).not.toContain(key.slice(-43));
  });

  it("come as X-API-Key too, and open no stage that doesn't take them", async () => {
    const stage = adminStage();
    const { key } = await make(stage);
    const headers = { authorization: "", "x-api-key": key };
    expect((await stage.ask({ path: "/v1/models", headers })).status).toBe(200);
    const name = `admin-${stages}`;
    const closed = adminStage({}, { stage: name, auth: { required: true, keys: false } });
    expect((await chatWith(closed, key)).status).toBe(401);
    expect((await chatWith(adminStage(), key)).status).toBe(401);
  });

  it("that are revoked are refused within 2 s, in the words for any wrong key", async () => {
    const stage = adminStage();
    const { key, id } = await make(stage);
    expect((await chatWith(stage, key)).status).toBe(200);
    expect((await call(stage, "POST", `/keys/${id}/revoke`)).status).toBe(200);
    stage.ahead = 2_000;
    const refused = await chatWith(stage, key);
    const wrong = await chatWith(stage, "wrong");
    expect([refused.status, wrong.status]).toEqual([401, 401]);
    expect((await errorOf(refused)).message).toBe((await errorOf(wrong)).message);
    expect(stage.requestLogs.at(-2)?.refusal).toBe("key_revoked");
    expect(await (await call(stage, "POST", `/keys/${id}/revoke`)).json()).toMatchObject({ state: "revoked" });
  });

  it("that are rotated keep the old secret for the grace time, and their caller's identity", async () => {
    const stage = adminStage();
    const first = await make(stage);
    expect((await chatWith(stage, first.key)).status).toBe(200);
    stage.ahead = 2_000;
    const second = (await (
      await call(stage, "POST", `/keys/${first.id}/rotate`, { grace_seconds: 60 })
    ).json()) as MadeKey;
    expect([second.id, second.key === first.key]).toEqual([first.id, false]);
    stage.ahead = 4_000;
    for (const { key } of [first, second]) expect((await chatWith(stage, key)).status).toBe(200);
    expect(new Set(stage.requestLogs.filter(({ via }) => via === "key").map(({ key_id }) => key_id)).size).toBe(1);
    stage.ahead = 63_000;
    expect((await chatWith(stage, first.key)).status).toBe(401);
    expect((await chatWith(stage, second.key)).status).toBe(200);
  });

  it("that are rotated open at once by their new text, where the old one was just in use", async () => {
    const stage = adminStage();
    const { id, key } = await make(stage);
    expect((await chatWith(stage, key)).status).toBe(200);
    const rotated = (await (await call(stage, "POST", `/keys/${id}/rotate`)).json()) as MadeKey;
    expect((await chatWith(stage, rotated.key)).status).toBe(200);
    expect((await chatWith(stage, key)).status).toBe(200);
  });

  it("end when they were to end", async () => {
    const stage = adminStage();
    const { key, id } = await make(stage, { expires_in: 10 });
    expect((await chatWith(stage, key)).status).toBe(200);
    stage.ahead = 10_001;
    expect((await chatWith(stage, key)).status).toBe(401);
    const response = await call(stage, "POST", `/keys/${id}/rotate`);
    expect([response.status, (await errorOf(response)).code]).toEqual([409, "key_closed"]);
  });

  it("keep to their models, on every way to them", async () => {
    const stage = adminStage();
    const { key } = await make(stage, { models: ["intent"] });
    const refused = await chatWith(stage, key);
    expect([refused.status, (await errorOf(refused)).code]).toEqual([403, "model_not_allowed"]);
    expect((await chatWith(stage, key, { model: "chat" })).status).toBe(403);
    const headers = { authorization: `Bearer ${key}` };
    expect((await stage.ask({ path: "/", body: { prompt: "Hi" }, headers })).status).toBe(403);
    expect((await stage.ask({ path: "/v1/models/chat", headers })).status).toBe(403);
    expect((await stage.ask({ path: "/v1/models/intent", headers })).status).toBe(200);
    expect((await stage.ask({ path: "/v1/models/chat/artifacts/1/model.onnx", headers })).status).toBe(403);
    expect(stage.ai.runs).toHaveLength(0);
  });

  it("see the models that they may use, a version by its own name", async () => {
    const stage = adminStage();
    const { key } = await make(stage, { models: ["intent", "chat@2"] });
    const response = await stage.ask({ path: "/v1/models", headers: { authorization: `Bearer ${key}` } });
    const { data } = (await response.json()) as { data: Json[] };
    expect(data.map(({ id }) => id)).toEqual(["intent", "chat@2"]);
    expect((await chatWith(stage, key, { model: "chat@2" })).status).toBe(200);
    expect((await chatWith(stage, key, { model: "chat" })).status).toBe(403);
  });

  it("have one name each while they are active", async () => {
    const stage = adminStage();
    const { id } = await make(stage);
    const response = await call(stage, "POST", "/keys", { name: " app " });
    expect(response.status).toBe(409);
    expect(await errorOf(response)).toMatchObject({ code: "key_exists", message: expect.stringContaining(id) });
  });

  it("are listed page by page", async () => {
    const stage = adminStage();
    for (const name of ["a", "b", "c"]) await make(stage, { name });
    const first = (await (await call(stage, "GET", "/keys?limit=2")).json()) as { data: Json[]; next: number };
    const second = (await (await call(stage, "GET", `/keys?limit=2&after=${first.next}`)).json()) as { data: Json[] };
    expect([...first.data, ...second.data].map(({ name }) => name)).toEqual(["a", "b", "c"]);
  });

  it.each([
    ["name", {}],
    ["name", { name: "" }],
    ["name", { name: "a\u0000b" }],
    ["name", { name: "x".repeat(101) }],
    ["name", { name: 7 }],
    ["models", { name: "a", models: [] }],
    ["models[1]", { name: "a", models: ["chat", "chatt"] }],
    ["models[0]", { name: "a", models: ["chat@9"] }],
    ["models[0]", { name: "a", models: ["__proto__"] }],
    ["models", { name: "a", models: "chat" }],
    ["requests_per_minute", { name: "a", requests_per_minute: 0 }],
    ["tokens_per_minute", { name: "a", tokens_per_minute: 1.5 }],
    ["budgets[0].usd", { name: "a", budgets: [{ period: "day", usd: -1 }] }],
    ["budgets[0].usd", { name: "a", budgets: [{ period: "day" }] }],
    ["budgets[0].period", { name: "a", budgets: [{ period: "week", usd: 1 }] }],
    ["budgets[0].fall_to", { name: "a", budgets: [{ period: "day", usd: 1, fall_to: "gone" }] }],
    ["budgets[0].fall_to", { name: "a", models: ["chat@2"], budgets: [{ period: "day", usd: 1, fall_to: "chat" }] }],
    [
      "budgets",
      {
        name: "a",
        budgets: [
          { period: "day", usd: 1 },
          { period: "day", usd: 2 },
        ],
      },
    ],
    ["expires_in", { name: "a", expires_in: 0 }],
    ["expires", { name: "a", expires: "tomorrow" }],
  ])("are not made when %s is wrong: %j", async (param, body) => {
    const response = await call(adminStage(), "POST", "/keys", body);
    expect(response.status).toBe(400);
    const error = await errorOf(response);
    expect(error.param).toBe(param);
    expect(error.message).toContain(`\`${param}\``);
  });

  it.each([["{"], ["[]"], [""]])("are not made from %j", async (body) => {
    expect((await call(adminStage(), "POST", "/keys", body)).status).toBe(400);
  });

  it("that never were are a 404, also by names that are no ids", async () => {
    for (const id of ["000000000000", "x", "..%2f..", "'--"]) {
      for (const change of ["rotate", "revoke"]) {
        expect((await call(adminStage(), "POST", `/keys/${id}/${change}`)).status).toBe(404);
      }
    }
  });

  it("that can't be reached are a 503 for who asks for a change, and for a caller who was never seen", async () => {
    const KEYS = { getByName: () => ({ lookup: broken, create: broken }) } as unknown as GatewayEnv["KEYS"];
    const stage = adminStage({ KEYS });
    const response = await call(stage, "POST", "/keys", { name: "a" });
    expect([response.status, (await errorOf(response)).code]).toEqual([503, "keys_unavailable"]);
    const { key } = await make(adminStage());
    const refused = await chatWith(stage, key);
    expect([refused.status, (await errorOf(refused)).code]).toEqual([503, "access_unavailable"]);
    // The stage's own key needs no ring.
    expect((await stage.chat()).status).toBe(200);
  });

  it("leave a trace in the log when they are made, rotated and revoked", async () => {
    const stage = adminStage();
    const { id } = await make(stage);
    await call(stage, "POST", `/keys/${id}/rotate`);
    await call(stage, "POST", `/keys/${id}/revoke`);
    const changes = stage.logs.filter(({ event }) => event === "key").map(({ change, key_id }) => [change, key_id]);
    expect(changes).toEqual([
      ["created", id],
      ["rotated", id],
      ["revoked", id],
    ]);
  });
});

const broken = () => Promise.reject(new Error("object reset"));
