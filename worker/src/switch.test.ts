import { expect, it } from "vitest";
import { onAbort, Switch } from "./switch.ts";

it.each([
  ["a switch", () => new Switch()],
  ["a controller of the platform's", () => new AbortController()],
])("%s is heard of once, with its reason set, by those who didn't take it back", (_, make) => {
  const abort = make();
  const told: string[] = [];
  onAbort(abort.signal, () => told.push(`first ${abort.signal.reason}`));
  const off = onAbort(abort.signal, () => told.push("second"));
  off();
  abort.signal.addEventListener("abort", () => told.push("event"));
  expect(told).toEqual([]);
  abort.abort("gone");
  abort.abort("again");
  expect(told.toSorted()).toEqual(["event", "first gone"]);
  expect(abort.signal.reason).toBe("gone");
});

it("a switch is the platform's signal to whoever takes one", async () => {
  const abort = new Switch();
  const any = AbortSignal.any([abort.signal]);
  abort.abort("gone");
  expect(any.reason).toBe("gone");
});
