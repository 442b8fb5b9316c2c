import { describe, expect, it } from "vitest";
import * as s from "./schema.ts";

const Thing = s.object({
  name: s.text,
  size: s.optional(s.positive, 3),
  note: s.orNull(s.string()),
  tag: s.maybe(s.one(["a", "b"])),
  inner: s.optional(s.object({ on: s.optional(s.boolean, true), share: s.optional(s.share, 0.5) }), {}),
  pairs: s.optional(s.list(s.pair(s.count, s.count), s.filled), [[1, 2]]),
  by: s.optional(s.record(s.string(s.like(/^\d+$/, "is no number")), s.number(s.above(0), s.below(1))), {}),
});

const faultOf = (value: unknown, schema: s.Schema<unknown> = Thing) => {
  try {
    return schema(value, "");
  } catch (fault) {
    if (!(fault instanceof s.Fault)) throw fault;
    return `${fault.path}: ${fault.message}`;
  }
};

describe("a schema", () => {
  it("fills in what is left out, at every depth, and passes over what it doesn't know", () => {
    expect(Thing({ name: "x", later: 1 }, "")).toEqual({
      name: "x",
      size: 3,
      note: null,
      inner: { on: true, share: 0.5 },
      pairs: [[1, 2]],
      by: {},
    });
  });

  it.each<[unknown, string]>([
    [[], ": must be an object"],
    [null, ": must be an object"],
    [{}, "name: is missing"],
    [{ name: "" }, "name: is empty"],
    [{ name: 1 }, "name: must be a text"],
    [{ name: "x", size: 0 }, "size: must be at least 1"],
    [{ name: "x", size: 1.5 }, "size: must be a whole number"],
    [{ name: "x", size: null }, "size: must be a number"],
    [{ name: "x", tag: "c" }, "tag: must be one of a, b"],
    [{ name: "x", inner: { on: 1 } }, "inner.on: must be true or false"],
    [{ name: "x", inner: { share: 2 } }, "inner.share: must be at most 1"],
    [{ name: "x", pairs: [] }, "pairs: is empty"],
    [{ name: "x", pairs: {} }, "pairs: must be a list"],
    [{ name: "x", pairs: [[1, 2], [3]] }, "pairs.1.1: must be a number"],
    [{ name: "x", by: { a: 0.5 } }, "by.a: is no number"],
    [{ name: "x", by: { "1": 1 } }, "by.1: must be less than 1"],
    [{ name: "x", by: { "1": 0 } }, "by.1: must be more than 0"],
  ])("names the first fault of %j", (value, fault) => {
    expect(faultOf(value)).toBe(fault);
  });

  it("that is strict knows no other field, and no inherited one", () => {
    const body = s.strict({ name: s.trimmed(s.filled), toString: s.maybe(s.string()) });
    expect(faultOf({ name: " x " }, body)).toEqual({ name: "x" });
    expect(faultOf({ name: "x", more: 1 }, body)).toBe("more: is not known here");
    expect(faultOf({ name: "  " }, body)).toBe("name: is empty");
    expect(faultOf(JSON.parse('{"name":"x","__proto__":{"a":1}}'), body)).toBe("__proto__: is not known here");
  });

  it("makes no prototype of a field's name", () => {
    const read = s.record(s.string(), s.anything)(JSON.parse('{"__proto__":{"polluted":1}}'), "");
    expect(Object.hasOwn(read, "__proto__")).toBe(true);
    expect((read as { polluted?: number }).polluted).toBeUndefined();
  });
});
