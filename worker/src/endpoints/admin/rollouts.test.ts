import { describe, expect, it } from "vitest";
import { modelsWith, rolloutSpec } from "../../../test/support/rollout-spec.ts";
import { Stage } from "../../../test/support/stage.ts";
import type { GatewayEnv } from "../../env.ts";
import type { JournalPage, StageView } from "../../rollout/port.ts";
import type { RolloutSpec, RolloutView } from "../../rollout/types.ts";

const ADMIN = "adm-test-0123456789-0123456789";
let stages = 0;

type Fault = { error: { code: string; message: string; hint?: string; param: string | null } };

function setUp(rollout: Partial<RolloutSpec> = {}, bindings: Partial<GatewayEnv> = {}) {
  const models = modelsWith(rolloutSpec(rollout));
  const name = `rollouts-${++stages}`;
  const stage = new Stage({ stage: name, models }, { ADMIN_KEY: ADMIN, ...bindings });
  const send = async <T>(method: string, path: string, body?: unknown): Promise<{ status: number; told: T }> => {
    const headers = { authorization: `Bearer ${ADMIN}` };
    const response = await stage.ask({ method, path: `/_sluiceway/rollouts${path}`, body, headers });
    return { status: response.status, told: (await response.json()) as T };
  };
  return {
    name,
    stage,
    get: <T>(path: string) => send<T>("GET", path),
    post: <T>(path: string, body: unknown) => send<T>("POST", path, body),
  };
}

describe("the rollouts of a stage, to its owner", () => {
  it("are there from the first look, before any request: who looks declares them too", async () => {
    const { name, get } = setUp();
    const { status, told } = await get<StageView>("");
    expect(status).toBe(200);
    expect(told).toMatchObject({ stage: name, order: "\n11111111-test", release: "r-0123456789ab" });
    expect(told.revision).toBeGreaterThan(0);
    expect(told.models.map(({ model, phase }) => [model, phase])).toEqual([
      ["chat", "stepping"],
      ["intent", "split"],
    ]);
  });

  it("are shown one by one", async () => {
    const { get } = setUp();
    const chat = await get<RolloutView>("/chat");
    expect(chat).toMatchObject({
      status: 200,
      told: {
        model: "chat",
        weights: [
          [1, 90],
          [2, 10],
        ],
        stable: 1,
      },
    });
    const missing = await get<Fault>("/nope");
    expect(missing).toMatchObject({ status: 404, told: { error: { code: "model_not_found" } } });
  });

  it("obey commands, and answer with what came of it", async () => {
    const { get, post } = setUp();
    const paused = await post<RolloutView>("/chat/pause", { actor: "ann", reason: "lunch" });
    expect(paused).toMatchObject({ status: 200, told: { phase: "paused", paused_from: "stepping" } });
    expect((await post<RolloutView>("/chat/resume", { actor: "ann" })).told.phase).toBe("stepping");
    expect((await post<RolloutView>("/chat/promote", { actor: "ann" })).told.phase).toBe("watching");
    expect((await post<RolloutView>("/chat/rollback", { actor: "bob" })).told.phase).toBe("rolled-back");
    const { told } = await get<JournalPage>("/journal?model=chat");
    expect(told.entries.slice(-4).map(({ kind, cause }) => [kind, cause])).toEqual([
      ["paused", "person:ann"],
      ["resumed", "person:ann"],
      ["promoted", "person:ann"],
      ["rolled-back", "person:bob"],
    ]);
    expect(told.next).toBeNull();
  });

  it("refuse with a hint what makes no sense now, and what was decided on an old picture", async () => {
    const { get, post } = setUp();
    const { told } = await get<StageView>("");
    const resume = await post<Fault>("/chat/resume", { actor: "ann" });
    expect(resume).toMatchObject({ status: 409, told: { error: { code: "cannot_resume", hint: expect.any(String) } } });
    await post("/chat/pause", { actor: "ann" });
    const late = await post<Fault>("/chat/abort", { actor: "bob", expect: told.revision });
    expect(late).toMatchObject({ status: 409, told: { error: { code: "revision_moved", hint: expect.any(String) } } });
    const nobody = await post<Fault>("/nope/pause", { actor: "ann" });
    expect(nobody).toMatchObject({ status: 404, told: { error: { code: "model_not_found" } } });
  });

  it("take what a pre-check found", async () => {
    const { get, post } = setUp({ checks: ["golden"] });
    expect((await get<RolloutView>("/chat")).told).toMatchObject({
      phase: "checking",
      weights: [
        [1, 100],
        [2, 0],
      ],
    });
    const report = { check: "golden", verdict: "pass", summary: "48 of 50", actor: "ci", stable: 1, candidate: 2 };
    const others = await post<{ error: { code: string } }>("/chat/checks", { ...report, candidate: 3 });
    expect([others.status, others.told.error.code]).toEqual([409, "other_versions"]);
    expect((await post<RolloutView>("/chat/checks", report)).told).toMatchObject({ phase: "stepping" });
  });

  it("go back to the spec before one that is withdrawn, and say so when there is none", async () => {
    const { get, post } = setUp();
    const { told } = await get<StageView>("");
    const only = await post<Fault>("/withdraw", { order: told.order, actor: "ann" });
    expect(only).toMatchObject({ status: 409, told: { error: { code: "nothing_to_return_to" } } });
    const other = await post<StageView>("/withdraw", { order: "2020-01-01T00:00:00Z\nv0", actor: "ann" });
    expect(other).toMatchObject({ status: 200, told: { order: told.order } });
  });

  it("give their journal by pages", async () => {
    const { get, post } = setUp();
    for (const command of ["pause", "resume", "pause"]) await post(`/chat/${command}`, { actor: "ann" });
    const first = (await get<JournalPage>("/journal?limit=2")).told;
    expect(first.entries.map(({ number }) => number)).toEqual([1, 2]);
    const rest = (await get<JournalPage>(`/journal?after=${first.next}&limit=1000`)).told;
    expect(rest.entries[0]?.number).toBe(3);
    expect(rest.next).toBeNull();
    expect((await get<JournalPage>("/journal?model=&limit=2")).told).toEqual(first);
    expect((await get<JournalPage>("/journal?model=nope")).told).toEqual({ entries: [], next: null });
  });

  it.each<[string, string, unknown, string]>([
    ["a command by nobody", "/chat/pause", {}, "actor"],
    ["a name that breaks the line", "/chat/pause", { actor: "ann\nbob" }, "actor"],
    ["a field that is not known", "/chat/pause", { actor: "ann", force: true }, "force"],
    ["an odd revision", "/chat/pause", { actor: "ann", expect: 1.5 }, "expect"],
    ["a check of another kind", "/chat/checks", { check: "x", verdict: "pass", summary: "s", actor: "a" }, "check"],
    ["an order that is none", "/withdraw", { order: "x", actor: "ann" }, "order"],
  ])("refuse %s, by the field", async (_, path, body, param) => {
    const { post } = setUp();
    expect(await post<Fault>(path, body)).toMatchObject({ status: 400, told: { error: { param } } });
  });

  it.each(["after=-1", "after=x", "limit=0", "limit=1001"])("refuse the journal at %s", async (query) => {
    const { get } = setUp();
    expect((await get<Fault>(`/journal?${query}`)).status).toBe(400);
  });

  it("say when the controller can't be reached", async () => {
    const down = () => Promise.reject(new Error("down"));
    const controller = { splits: down, views: down, command: down };
    const ROLLOUTS = { getByName: () => controller } as unknown as GatewayEnv["ROLLOUTS"];
    const { get, post } = setUp({}, { ROLLOUTS });
    expect(await get<Fault>("")).toMatchObject({ status: 503, told: { error: { code: "rollouts_unavailable" } } });
    expect((await post<Fault>("/chat/abort", { actor: "ann" })).status).toBe(503);
  });
});
