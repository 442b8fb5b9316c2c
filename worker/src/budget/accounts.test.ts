import { describe, expect, it } from "vitest";
import { stageConfig } from "../../test/support/stage.ts";
import { parseConfig } from "../config.ts";
import type { GatewayEnv } from "../env.ts";
import type { Account } from "./account.ts";
import { Accounts, MOST } from "./accounts.ts";
import type { Report, SpendLine } from "./protocol.ts";

const config = parseConfig(JSON.stringify(stageConfig({ stage: "accounts" })));
const line: SpendLine = {
  ...{ day: "2026-11-30", key: "k", team: "", model: "chat@1", requests: 1, nanos: 1, prompt: 1, completion: 1 },
};

/** Accounts on a clock that moves only by lingering, and a ledger that fails on order. */
function world() {
  const state = { now: 1_000_000, fails: false, reports: [] as Report[], works: [] as Promise<void>[] };
  const ambient = {
    ...{ now: () => state.now, newId: () => "id", random: () => 0.5, log: () => {} },
    linger: async (ms: number) => {
      state.now += ms;
    },
  };
  const report = async (told: Report) => {
    if (state.fails) throw new Error("down");
    state.reports.push(structuredClone(told));
    return { granted: 0 };
  };
  const env = { LEDGER: { getByName: () => ({ report }) } } as unknown as GatewayEnv;
  const accounts = new Accounts(config, ambient);
  const touch = (account: Account) => accounts.touch(account, env, (work) => void state.works.push(work));
  return { state, env, accounts, touch };
}

describe("Accounts", () => {
  it("tells fifty reports at once, and one a second from then on", async () => {
    const { state, accounts, touch } = world();
    const account = accounts.of("stage");
    const began = state.now;
    for (let i = 0; i < 80; i++) {
      account.book(line);
      touch(account);
      await Promise.all(state.works);
      if (i === 48) expect(state.now).toBe(began);
    }
    expect(state.reports).toHaveLength(80);
    expect(state.now - began).toBeGreaterThanOrEqual(29_000);
    expect(state.reports.reduce((sum, { batch }) => sum + (batch?.lines[0]?.requests ?? 0), 0)).toBe(80);
  });

  it("runs one round at a time, which takes along what comes meanwhile", async () => {
    const { state, accounts, touch } = world();
    const account = accounts.of("stage");
    for (let i = 0; i < 10; i++) {
      account.book(line);
      touch(account);
    }
    await Promise.all(state.works);
    expect(state.works).toHaveLength(1);
    expect(state.reports.map(({ batch }) => batch?.lines[0]?.requests)).toEqual([1, 9]);
  });

  it("tries three times, and goes on with the next request", async () => {
    const { state, accounts, touch } = world();
    const account = accounts.of("stage");
    state.fails = true;
    account.book(line);
    touch(account);
    await Promise.all(state.works);
    expect(account.dirty).toBe(true);
    state.fails = false;
    touch(account);
    await Promise.all(state.works);
    expect(account.dirty).toBe(false);
    expect(state.reports).toHaveLength(1);
  });

  it("gives up a round that died with its request", async () => {
    const { state, accounts } = world();
    const account = accounts.of("stage");
    const dead = { LEDGER: { getByName: () => ({ report: () => new Promise(() => {}) }) } } as unknown as GatewayEnv;
    account.book(line);
    accounts.touch(account, dead, () => {});
    let works = 0;
    const live = { LEDGER: { getByName: () => ({ report: async () => ({ granted: 0 }) }) } } as unknown as GatewayEnv;
    state.now += 9_000;
    accounts.touch(account, live, () => works++);
    expect(works).toBe(0);
    state.now += 1_000;
    accounts.touch(account, live, () => works++);
    expect(works).toBe(1);
    await expect.poll(() => account.dirty).toBe(false);
  });

  it("flushes all that is dirty, and never fails", async () => {
    const { state, env, accounts } = world();
    for (const id of ["a", "b"]) accounts.of("key", id).book(line);
    accounts.of("key", "c");
    state.fails = true;
    await accounts.flush(env);
    state.fails = false;
    await accounts.flush(env);
    expect(state.reports).toHaveLength(2);
  });

  it("is bounded, and forgets first what has nothing to tell", () => {
    const { accounts } = world();
    const dirty = accounts.of("key", "dirty");
    dirty.book(line);
    for (let i = 0; i < MOST; i++) accounts.of("key", `quiet-${i}`);
    expect(accounts.size).toBeLessThanOrEqual(MOST);
    expect(accounts.of("key", "dirty")).toBe(dirty);
    for (let i = 0; i < MOST + 10; i++) accounts.of("key", `loud-${i}`).book(line);
    expect(accounts.size).toBeLessThanOrEqual(MOST);
  });

  it("keeps two isolates apart", () => {
    const ids = [world(), world()].flatMap(({ accounts }) => [accounts.newId(), accounts.newId()]);
    expect(new Set(ids).size).toBe(4);
  });
});
