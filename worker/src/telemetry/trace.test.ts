import { describe, expect, it } from "vitest";
import { parseTraceparent, traceOf, traceparentOf } from "./trace.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const given = (traceparent: string, tracestate?: string) =>
  new Headers({ traceparent, ...(tracestate !== undefined && { tracestate }) });
const half = () => 0.5;

describe("traceparent", () => {
  it.each([
    [`00-${TRACE}-${SPAN}-01`, true],
    [`00-${TRACE}-${SPAN}-00`, false],
    // Unknown flags say nothing, and a later version may append fields.
    [`00-${TRACE}-${SPAN}-fe`, false],
    [`cc-${TRACE}-${SPAN}-01-what-the-future-adds`, true],
  ])("%j is read", (header, sampled) => {
    expect(parseTraceparent(header)).toEqual({ traceId: TRACE, parentId: SPAN, sampled });
  });

  it.each([
    "",
    "nonsense",
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-01-more`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
  ])("%j is refused", (header) => expect(parseTraceparent(header)).toBeNull());
});

describe("a request's trace", () => {
  it("is none when neither caller nor stage asks for one", () => {
    expect(traceOf(new Headers(), null, half)).toBeNull();
    expect(traceOf(given("nonsense"), null, half)).toBeNull();
  });

  it("goes on from the caller's, under a span of its own, with the caller's flag and state", () => {
    const trace = traceOf(given(`00-${TRACE}-${SPAN}-01`, "vendor=1"), null, half);
    expect(trace).toMatchObject({ traceId: TRACE, parentId: SPAN, sampled: true, state: "vendor=1" });
    if (trace === null) throw new Error("there is a trace");
    expect(traceparentOf(trace)).toBe(`00-${TRACE}-${trace.backendSpanId}-01`);
    expect(trace.spanId).not.toBe(SPAN);
  });

  it("begins here when the stage exports and the caller sent none, or a malformed one whose state is dropped", () => {
    let seed = 0;
    const random = () => {
      seed += 0.07;
      return seed % 1;
    };
    for (const headers of [new Headers(), given("nonsense", "vendor=1")]) {
      const trace = traceOf(headers, 1, random);
      expect(trace?.traceId).toMatch(/^[0-9a-f]{32}$/);
      expect(trace?.spanId).toMatch(/^[0-9a-f]{16}$/);
      expect(trace?.spanId).not.toBe(trace?.backendSpanId);
      expect(trace).toMatchObject({ parentId: null, sampled: true, state: null });
    }
  });

  it("has ids that are never zero, nor one digit too long", () => {
    for (const extreme of [0, 1 - 2 ** -53]) {
      const trace = traceOf(new Headers(), 1, () => extreme);
      expect(parseTraceparent(trace === null ? "" : traceparentOf(trace))).not.toBeNull();
    }
  });

  it("is exported by share, whatever share of callers asks for it, and never when the caller said no", () => {
    const low = `${TRACE.slice(0, 24)}0fffffff`;
    const high = `${TRACE.slice(0, 24)}f0000000`;
    const sampled = (id: string, flag: string, share: number) =>
      traceOf(given(`00-${id}-${SPAN}-${flag}`), share, half)?.sampled;
    expect(sampled(low, "01", 0.1)).toBe(true);
    expect(sampled(high, "01", 0.1)).toBe(false);
    expect(sampled(high, "01", 1)).toBe(true);
    expect(sampled(low, "01", 0)).toBe(false);
    expect(sampled(low, "00", 1)).toBe(false);
  });
});
