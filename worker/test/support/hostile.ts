type Json = Record<string, unknown>;

const VALUES: unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  "",
  "x",
  "\ud800",
  "\u0000",
  [],
  [null],
  {},
  { a: {} },
  "__proto__",
  [[[]]],
];

const NAMES = ["x", "role", "content", "tool_calls", "function", "arguments", "0", "constructor", "__proto__"];

/** A copy of the value with something else in one or two places. */
export function mutated(value: unknown, next: () => number): unknown {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)] as T;
  if (typeof value !== "object" || value === null || next() < 0.15) return pick(VALUES);
  const keys = Object.keys(value);
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as Json;
  const key = keys.length === 0 || next() < 0.1 ? pick(NAMES) : pick(keys);
  const before = Object.hasOwn(copy, key) ? copy[key] : undefined;
  Object.defineProperty(copy, key, {
    value: mutated(before, next),
    enumerable: true,
    writable: true,
    configurable: true,
  });
  return copy;
}
