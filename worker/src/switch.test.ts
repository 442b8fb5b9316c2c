import { expect, it } from "vitest";
import { type Ender, native, onAbort, Switch } from "./switch.ts";

it.each<[string, () => Ender]>([
  ["a switch", () => new Switch()],
  ["a controller of the platform's", () => new AbortController()],
])("%s is heard of once, with its reason set, by those who didn't take it back", (_, make) => {
  const abort = make();
  const told: string[] = [];
  const early = onAbort(abort.signal, () => told.push("early"));
  onAbort(abort.signal, () => told.push(`one ${abort.signal.reason}`));
  early();
  const off = onAbort(abort.signal, () => told.push("never"));
  onAbort(abort.signal, () => told.push("another"));
  off();
  native(abort.signal).addEventListener("abort", () => told.push("event"));
  expect(told).toEqual([]);
  abort.abort("gone");
  abort.abort("again");
  expect(told.toSorted()).toEqual(["another", "event", "one gone"]);
  expect(abort.signal.reason).toBe("gone");
  expect(() => abort.signal.throwIfAborted()).toThrow("gone");
});

it.each(["before", "after"])("a switch is the platform's signal to whoever takes one %s it is called for", (when) => {
  const abort = new Switch();
  if (when === "after") abort.abort("gone");
  const any = AbortSignal.any([abort.native]);
  abort.abort("gone");
  expect(any.aborted).toBe(true);
  expect(any.reason).toBe("gone");
});

it("a switch without a reason has the platform's", () => {
  const abort = new Switch();
  abort.abort();
  expect(abort.reason).toMatchObject({ name: "AbortError" });
});
