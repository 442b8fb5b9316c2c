import { env, runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import type { GatewayEnv } from "../env.ts";
import { StoredState } from "./stored-state.ts";

interface State {
  readonly revision: number;
  readonly spec: { readonly order: string } | null;
  readonly models: Readonly<Record<string, { readonly weight: number }>>;
  readonly seen: Readonly<Record<string, readonly number[]>>;
}

const EMPTY: State = { revision: 0, spec: null, models: {}, seen: {} };
let objects = 0;

/** Runs with the SQL of an object of its own, whose table begins empty. */
function withSql(work: (sql: SqlStorage) => void): Promise<void> {
  const stub = (env as unknown as GatewayEnv).ROLLOUTS.getByName(`stored-${++objects}`);
  return runInDurableObject(stub, (_, { storage }) => {
    storage.sql.exec("DELETE FROM state");
    work(storage.sql);
  });
}

const rows = (sql: SqlStorage) => [...sql.exec("SELECT field, entry FROM state").raw()].map((row) => row.join("/"));

it("gives back what was written last, whatever came and went", () =>
  withSql((sql) => {
    const stored = new StoredState<State>(sql);
    expect(stored.read()).toBeNull();
    const states: State[] = [
      EMPTY,
      { ...EMPTY, revision: 1, spec: { order: "a" }, models: { chat: { weight: 1 } } },
      { ...EMPTY, revision: 2, models: { chat: { weight: 2 }, constructor: { weight: 3 } }, seen: { i: [1, 2] } },
      { ...EMPTY, revision: 3, models: { chat: { weight: 2 } } },
      EMPTY,
    ];
    for (const state of states) {
      stored.write(state);
      expect(new StoredState<State>(sql).read()).toEqual(state);
    }
  }));

it("writes no more than what is another than before", () =>
  withSql((sql) => {
    const stored = new StoredState<State>(sql);
    const chat = { weight: 1 };
    stored.write({ ...EMPTY, models: { chat, other: { weight: 1 } } });
    sql.exec("DELETE FROM state");
    stored.write({ ...EMPTY, revision: 1, models: { chat, other: { weight: 2 } } });
    expect(rows(sql)).toEqual(["models/other", "revision/"]);
  }));

it("goes on from what it has read", () =>
  withSql((sql) => {
    new StoredState<State>(sql).write({ ...EMPTY, models: { chat: { weight: 1 } } });
    const again = new StoredState<State>(sql);
    const state = again.read() ?? EMPTY;
    sql.exec("DELETE FROM state");
    again.write({ ...state, revision: 5 });
    expect(rows(sql)).toEqual(["revision/"]);
  }));

it("writes all of it again when the very first writing was taken back", () =>
  withSql((sql) => {
    const stored = new StoredState<State>(sql);
    stored.write(EMPTY);
    // What a transaction that failed leaves, and what its owner does then.
    sql.exec("DELETE FROM state");
    expect(stored.read()).toBeNull();
    stored.write(EMPTY);
    expect(new StoredState<State>(sql).read()).toEqual(EMPTY);
  }));
