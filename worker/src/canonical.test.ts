import { expect, it } from "vitest";
import { canonicalJson } from "./canonical.ts";

it("gives equal values equal text, and keeps the order of lists", () => {
  expect(canonicalJson({ b: [2, 1], a: { d: null, c: "北" } })).toBe('{"a":{"c":"北","d":null},"b":[2,1]}');
  expect(canonicalJson({ a: undefined, b: [undefined] })).toBe('{"b":[null]}');
});
