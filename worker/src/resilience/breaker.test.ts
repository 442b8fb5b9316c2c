import { beforeEach, describe, expect, it } from "vitest";
import { Breaker } from "./breaker.ts";

describe("Breaker", () => {
  let now = 0;
  let breaker = new Breaker({ failures: 3, window_ms: 1_000, open_ms: 500 }, () => now);
  const fail = (times: number) => {
    for (let time = 0; time < times; time++) breaker.failed();
  };

  beforeEach(() => {
    now = 10_000;
    breaker = new Breaker({ failures: 3, window_ms: 1_000, open_ms: 500 }, () => now);
  });

  it("opens after so many failures in a row, and says for how long", () => {
    fail(2);
    expect([breaker.state, breaker.admits()]).toEqual(["closed", true]);
    fail(1);
    expect([breaker.state, breaker.openForMs, breaker.admits()]).toEqual(["open", 500, false]);
  });

  it("stays closed for a backend that fails now and then, however often", () => {
    for (let round = 0; round < 100; round++) {
      fail(2);
      breaker.succeeded();
    }
    expect(breaker.state).toBe("closed");
  });

  it("stays closed when the failures are far apart", () => {
    for (let round = 0; round < 10; round++) {
      fail(2);
      now += 1_001;
    }
    expect(breaker.state).toBe("closed");
  });

  it("lets one request try after its time, and no other meanwhile", () => {
    fail(3);
    now += 500;
    expect([breaker.state, breaker.admits(), breaker.admits(), breaker.admits()]).toEqual([
      "half-open",
      true,
      false,
      false,
    ]);
    breaker.succeeded();
    expect([breaker.state, breaker.admits()]).toEqual(["closed", true]);
  });

  it("opens again when the try fails, for as long again", () => {
    fail(3);
    now += 500;
    breaker.admits();
    now += 100;
    fail(1);
    expect([breaker.state, breaker.openForMs]).toEqual(["open", 500]);
  });

  it("isn't held open longer by requests that set out before it opened", () => {
    fail(3);
    now += 400;
    fail(5);
    expect(breaker.openForMs).toBe(100);
  });

  it("lets the next one try when the trying client left, or was never heard of again", () => {
    fail(3);
    now += 500;
    breaker.admits();
    breaker.ended();
    expect(breaker.admits()).toBe(true);
    now += 499;
    expect(breaker.admits()).toBe(false);
    now += 1;
    expect(breaker.admits()).toBe(true);
  });

  it("lets requests through once a streamed answer has begun, but trusts it only when it has ended", () => {
    fail(3);
    now += 500;
    breaker.admits();
    breaker.began();
    expect([breaker.state, breaker.admits(), breaker.admits()]).toEqual(["closed", true, true]);
    fail(1);
    expect(breaker.state).toBe("open");
    now += 500;
    breaker.admits();
    breaker.began();
    breaker.succeeded();
    fail(2);
    expect(breaker.state).toBe("closed");
  });
});
