import { expect, it } from "vitest";
import { put } from "./bounded-map.ts";

it("keeps the newest entries; setting one again makes it the newest", () => {
  const map = new Map<string, number>();
  for (const [at, key] of ["a", "b", "a", "c"].entries()) put(map, key, at, 2);
  expect([...map]).toEqual([
    ["a", 2],
    ["c", 3],
  ]);
});
