import type { Split } from "../config.ts";
import { sha256 } from "../digest.ts";

/** A user's point is a whole number in `[0, POINTS)`, the same in Python and TypeScript. */
export const POINTS = 10_000;
const POINTS_PER_PERCENT = POINTS / 100;

/** Where a user stands for a model: first 6 bytes of sha256(model LF user), scaled to `POINTS`. */
export async function point(model: string, user: string): Promise<number> {
  const digest = await sha256(`${model}\n${user}`);
  let head = 0n;
  for (const byte of digest.subarray(0, 6)) head = (head << 8n) | BigInt(byte);
  return Number((head * BigInt(POINTS)) >> 48n);
}

/**
 * The version that serves a point. Candidates own `[0, w1)`, `[w1, w1 + w2)`, ... in declared order and stable the
 * rest, so raising a candidate's weight moves users only from stable to candidate.
 */
export function choose(split: Split, at: number): number {
  const [stable, ...candidates] = split;
  if (stable === undefined) throw new RangeError("a split names at least one version");
  let edge = 0;
  for (const [version, weight] of candidates) {
    edge += weight * POINTS_PER_PERCENT;
    if (at < edge) return version;
  }
  return stable[0];
}
