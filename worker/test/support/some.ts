import { inject } from "vitest";

/** One of so many of what a test tries, from the first on; all where every test runs, as in CI. */
export function some<T>(all: readonly T[], one: number): T[] {
  return all.filter((_, at) => inject("long") || at % one === 0);
}
