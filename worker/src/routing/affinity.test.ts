import { expect, it } from "vitest";
import { affinityOf } from "./affinity.ts";

it("is the same for the same caller, and no name of it", () => {
  expect(affinityOf("tenant", "ann@example.org")).toMatch(/^[0-9a-f]{32}$/);
  expect(affinityOf("tenant", "ann@example.org")).toBe(affinityOf("tenant", "ann@example.org"));
});

it("keeps callers apart", () => {
  const seen = new Set<string>();
  for (let user = 0; user < 20_000; user++) seen.add(affinityOf("tenant", `user-${user}`));
  for (let user = 0; user < 100; user++) seen.add(affinityOf(`tenant-${user}`, "user-1"));
  for (const user of ["", "北京", "北京 ", "\n"]) seen.add(affinityOf("tenant", user));
  expect(seen.size).toBe(20_104);
});
