import { describe, expect, it } from "vitest";
import { ApiError } from "../errors.ts";
import { failureOf, retryAfterMs } from "./failures.ts";

describe("failureOf", () => {
  it.each([
    [new ApiError(400, "invalid_request", "")],
    [new ApiError(413, "request_too_large", "")],
    [new ApiError(422, "invalid_request", "")],
    [new TypeError("ours")],
    [new DOMException("left", "AbortError")],
  ])("gw_08 leaves %s to whom it concerns", (error) => {
    expect(failureOf(error)).toBeNull();
  });

  it.each([
    [401, "e", true, "unavailable", false, true],
    [404, "e", false, "unavailable", false, true],
    [408, "e", false, "timeout", false, true],
    [410, "e", false, "unavailable", false, true],
    [429, "upstream_rate_limited", false, "rate_limited", true, false],
    [429, "upstream_out_of_capacity", false, "rate_limited", true, false],
    [429, "upstream_quota_exceeded", false, "quota_exceeded", false, false],
    [500, "e", false, "error", true, true],
    [501, "backend_not_served", false, "unavailable", false, false],
    [502, "upstream_error", true, "unavailable", false, true],
    [502, "upstream_broken", false, "error", true, true],
    [503, "e", false, "error", true, true],
    [504, "upstream_timeout", false, "timeout", false, true],
  ])("gw_08 takes %d %s (lasting: %s) for %s; retry %s, sick %s", (status, code, lasting, reason, retry, sick) => {
    expect(failureOf(new ApiError(status, code, "", { lasting }))).toMatchObject({ reason, retry, sick });
  });
});

describe("retryAfterMs", () => {
  const now = Date.parse("Tue, 01 Dec 2026 10:00:00 GMT");
  it.each([
    ["3", 3_000],
    ["0", 0],
    ["0.5", 500],
    ["Tue, 01 Dec 2026 10:00:07 GMT", 7_000],
    ["Tue, 01 Dec 2026 09:00:00 GMT", 0],
    ["soon", null],
    ["", null],
    ["-1", null],
  ])("reads %j as %s", (told, ms) => {
    expect(retryAfterMs(new ApiError(429, "e", "", { headers: { "retry-after": told } }), now)).toBe(ms);
  });

  it("knows that nothing was said", () => {
    expect(retryAfterMs(new ApiError(429, "e", ""), now)).toBeNull();
  });
});
