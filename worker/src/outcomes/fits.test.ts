import { expect, it, vi } from "vitest";
import { fits } from "./fits.ts";

it.each<[unknown, unknown, boolean]>([
  ["a", { enum: ["b", "a"] }, true],
  ["1", { enum: [1] }, false],
  [null, { enum: [{}, null] }, true],
  [{}, { enum: [null, "{}"] }, false],
  [{ a: [1] }, { enum: [{ a: [2] }, { a: [1] }] }, true],
  [3, { const: 3 }, true],
  ["[1]", { const: [1] }, false],
  [[1], { const: [1] }, true],
])("takes %j by a list or a constant as %j says", (value, schema, is) => {
  expect(fits(value, schema)).toBe(is);
});

it("writes nothing out for a long list of plain words, which a caller may send", () => {
  const written = vi.spyOn(JSON, "stringify");
  const words = Array.from({ length: 100 }, (_, at) => `word ${at}`);
  expect(fits(words, { items: { enum: words } })).toBe(true);
  expect(written).not.toHaveBeenCalled();
  written.mockRestore();
});
