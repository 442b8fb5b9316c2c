import { describe, expect, it } from "vitest";
import { RetryBudget } from "./retry-budget.ts";

describe("RetryBudget", () => {
  it("holds retries to a share of requests once the first burst is spent", () => {
    const budget = new RetryBudget(0.2);
    let burst = 0;
    while (budget.spend()) burst++;
    let retries = 0;
    for (let request = 0; request < 1_000; request++) {
      budget.earn();
      for (let again = 0; again < 3; again++) if (budget.spend()) retries++;
    }
    expect(burst).toBe(10);
    expect(retries).toBeGreaterThan(195);
    expect(retries).toBeLessThanOrEqual(200);
  });

  it("saves up no more than a burst in quiet times", () => {
    const budget = new RetryBudget(0.5);
    for (let request = 0; request < 10_000; request++) budget.earn();
    let burst = 0;
    while (budget.spend()) burst++;
    expect(burst).toBe(25);
  });

  it("allows none when the share is 0", () => {
    const budget = new RetryBudget(0);
    for (let request = 0; request < 100; request++) budget.earn();
    expect(budget.spend()).toBe(false);
  });
});
