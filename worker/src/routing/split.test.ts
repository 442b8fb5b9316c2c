import { describe, expect, inject, it } from "vitest";
import cases from "../../../tests/contract/split.json";
import users from "../../../tests/contract/split-users.json";
import type { Split } from "../config.ts";
import { sha256Hex } from "../digest.ts";
import { choose, POINTS, point } from "./split.ts";

describe("split", () => {
  it("agrees with the shared cases", async () => {
    expect(cases.length).toBeGreaterThan(50);
    for (const { model, user, split, point: at, version } of cases) {
      const got = await point(model, user);
      expect({ model, user, at: got, version: choose(split as unknown as Split, got) }).toEqual({
        model,
        user,
        at,
        version,
      });
    }
  });

  it("moves users only from stable to candidate as the candidate's weight rises", () => {
    for (let at = 0; at < POINTS; at += 97) {
      let before = 1;
      for (let weight = 0; weight <= 100; weight += 5) {
        const now = choose(
          [
            [1, 100 - weight],
            [2, weight],
          ],
          at,
        );
        expect(now).toBeGreaterThanOrEqual(before);
        before = now;
      }
      expect(before).toBe(2);
    }
  });

  it("gives each version its share of points", () => {
    const counts = new Map<number, number>();
    for (let at = 0; at < POINTS; at++) {
      const version = choose(
        [
          [1, 60],
          [2, 30],
          [3, 10],
        ],
        at,
      );
      counts.set(version, (counts.get(version) ?? 0) + 1);
    }
    expect(Object.fromEntries(counts)).toEqual({ 1: 6000, 2: 3000, 3: 1000 });
  });

  it("moves users of four arms only into the one that grows", () => {
    const arms = (weights: readonly number[]): Split => [
      [1, 100 - weights.reduce((sum, weight) => sum + weight, 0)],
      ...weights.map((weight, index) => [index + 2, weight] as const),
    ];
    for (const grows of [0, 1, 2]) {
      const [before, after] = [
        arms([1, 5, 25]),
        arms([1, 5, 25].map((weight, at) => weight + (at === grows ? 20 : 0))),
      ];
      for (let at = 0; at < POINTS; at += 7) {
        const [from, to] = [choose(before, at), choose(after, at)];
        if (from !== to) expect([from, to]).toEqual([1, grows + 2]);
      }
    }
  });

  // The shared cases above show it of some hundreds of users, and of every kind of name.
  it.runIf(inject("long"))("gives each of a hundred thousand users the arm that Python gives them", async () => {
    const { model, prefix, count, split, versions_sha256 } = users;
    let versions = "";
    for (let number = 0; number < count; number++) {
      versions += choose(split as unknown as Split, await point(model, `${prefix}${number}`));
    }
    expect(await sha256Hex(versions)).toBe(versions_sha256);
  });
});
