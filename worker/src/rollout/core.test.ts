import { describe, expect, it } from "vitest";
import { seed } from "./core.ts";

describe("seed", () => {
  const spec = {
    chat: [
      [1, 90],
      [2, 10],
    ],
  } as const;

  it("starts a new spec as declared", () => {
    expect(seed(null, "d1", spec, 5)).toEqual({ digest: "d1", table: spec, seededAt: 5 });
  });

  it("leaves a known spec's live weights alone", () => {
    const known = {
      digest: "d1",
      table: {
        chat: [
          [1, 0],
          [2, 100],
        ],
      },
      seededAt: 1,
    } as const;
    expect(seed(known, "d1", spec, 5)).toBe(known);
  });
});
