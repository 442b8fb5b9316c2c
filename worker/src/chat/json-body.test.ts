import { expect, it } from "vitest";
import { parseJsonObject } from "./json-body.ts";

const parse = (text: string) => parseJsonObject(new TextEncoder().encode(text));

it("reads an object, with or without byte order mark", () => {
  expect(parse('{"a":"北京"}')).toEqual({ a: "北京" });
  expect(parse('\ufeff{"a":1}')).toEqual({ a: 1 });
});

it.each([
  ["", /empty/],
  ["{", /not valid JSON/],
  ['{"secret": oops}', /not valid JSON/],
  ["[]", /must be a JSON object/],
  ["null", /must be a JSON object/],
  ['"text"', /must be a JSON object/],
  [`{"a":${"[".repeat(65)}${"]".repeat(65)}}`, /nested deeper than 64/],
  [`{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}`, /nested deeper|not valid JSON/],
  [`{${Array.from({ length: 257 }, (_, at) => `"k${at}":1`).join(",")}}`, /more than 256 fields/],
])("refuses %.20j with a reason", (text, reason) => {
  expect(() => parse(text)).toThrow(expect.objectContaining({ status: 400, message: expect.stringMatching(reason) }));
});

it("doesn't repeat the client's text in its reason", () => {
  expect(() => parse('{"secret": oops}')).toThrow(
    expect.not.objectContaining({ message: expect.stringContaining("oops") }),
  );
});

it("refuses bytes that are not UTF-8", () => {
  expect(() => parseJsonObject(Uint8Array.of(0x7b, 0xff, 0x7d))).toThrow(/not valid UTF-8/);
});
