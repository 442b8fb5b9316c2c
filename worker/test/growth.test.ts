import { expect, it } from "vitest";
import { growth, QUADRATIC, slowdown } from "./support/growth.ts";

/** Work of so many steps. */
const steps = (count: number) => () => {
  let sum = 0;
  for (let step = 0; step < count; step++) sum = (sum * 31 + step) % 65_521;
  return sum;
};

it("tells work that grows with the square of the size from work in proportion to it", () => {
  expect(growth(1_000, (size) => steps(size * 20))).toBeLessThan(QUADRATIC);
  expect(growth(1_000, (size) => steps(size * size))).toBeGreaterThan(QUADRATIC);
});

it("tells what costs more from what costs the same", () => {
  expect(slowdown(steps(200_000), steps(200_000))).toBeLessThan(2);
  expect(slowdown(steps(200_000), steps(2_000_000))).toBeGreaterThan(5);
});
