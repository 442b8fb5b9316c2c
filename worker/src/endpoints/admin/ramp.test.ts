import { expect, it } from "vitest";
import { refuse } from "../../../test/support/fake-ai.ts";
import { Stage } from "../../../test/support/stage.ts";
import type { RampView } from "../../rollout/types.ts";

const ADMIN = "adm-test-0123456789-0123456789";
const PATH = "/_sluiceway/releases/ramp";
const GATES = [{ name: "errors", margin: 0.02, slo: null, mode: "enforce" }];
let stages = 0;

type Fault = { error: { code: string; param: string } };

/** Two worker versions of one stage, each with a backend of its own. */
function setUp() {
  const name = `ramp-${++stages}`;
  const worker = (id: string) =>
    new Stage(
      { stage: name, cache: { enabled: false, ttl: 60 }, resilience: { attempts: 1, breaker: { failures: 1e6 } } },
      { ADMIN_KEY: ADMIN, VERSION: { id, tag: "", timestamp: "2026-11-30T10:00:00Z" } },
    );
  const [old, next] = [worker("old"), worker("new")];
  const send = async <T = { ramp: RampView | null }>(method: string, body?: unknown) => {
    const response = await old.ask({ method, path: PATH, body, headers: { authorization: `Bearer ${ADMIN}` } });
    return { status: response.status, told: (await response.json()) as T };
  };
  const began = Date.now() - 1_000;
  const order = { old: "old", new: "new", since: began, step: began, gates: GATES };
  /** So that isolates have heard of it: a look at the live split is two seconds old at most. */
  const heard = async () => {
    for (const stage of [old, next]) {
      stage.ahead += 2_001;
      await stage.chat();
    }
  };
  return { old, next, send, order, heard };
}

it("tells how two worker versions compare, by what every request of theirs has shown", async () => {
  const { old, next, send, order, heard } = setUp();
  expect(await send("GET")).toEqual({ status: 200, told: { ramp: null } });
  for (let at = 0; at < 3; at++) await old.chat();
  expect((await send("POST", order)).told.ramp).toMatchObject({ old: "old", new: "new", verdict: "inconclusive" });
  await heard();
  await send("POST", { ...order, since: 5 });
  next.ai.replyWith(refuse(500, 3043, "Internal"));
  for (let user = 0; user < 12; user++) {
    await old.chat({ model: "chat", user: `u${user}` });
    await old.ask({ path: "/v1/models" });
    await next.chat({ model: "chat", user: `u${user}` });
    await next.chat({ model: "chat@1" });
  }
  // What is no traffic: health, the owner, a preflight.
  for (const path of ["/healthz", "/readyz"]) await next.ask({ path });
  await next.ask({ path: "/_sluiceway/rollouts" });
  await next.ask({ path: "/v1/models", method: "OPTIONS", headers: { origin: "http://localhost:3000" } });
  const { told } = await send("GET");
  expect(told.ramp).toMatchObject({ verdict: "fail", gate: "errors" });
  const [errors] = told.ramp?.gates ?? [];
  expect(errors?.stable.bad).toBe(0);
  expect(errors?.candidate.bad).toBe(errors?.candidate.requests);
  expect(errors?.candidate.requests).toBeGreaterThanOrEqual(12);
});

it("is over when its runner says so: nothing is told of models without a rollout any more", async () => {
  const { next, send, order, heard } = setUp();
  await send("POST", order);
  await heard();
  await send("DELETE");
  await heard();
  await send("POST", order);
  // This one has not heard that it begins anew.
  await next.chat();
  expect((await send("GET")).told.ramp?.gates[0]?.candidate.requests).toBe(0);
});

it.each([
  ["old", { old: "" }],
  ["gates", { gates: [] }],
  ["gates[0].name", { gates: [{ ...GATES[0], name: "luck" }] }],
  ["since", { since: -1 }],
  ["more", { more: 1 }],
])("refuses what says nothing: %s", async (param, change) => {
  const { send, order } = setUp();
  const refused = await send<Fault>("POST", { ...order, ...change });
  expect([refused.status, refused.told.error.param]).toEqual([400, param]);
});

it("opens to its owner alone", async () => {
  const stage = new Stage({}, { ADMIN_KEY: ADMIN });
  expect((await stage.ask({ path: PATH })).status).toBe(401);
});
