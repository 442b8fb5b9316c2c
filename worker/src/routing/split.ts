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
 * The version that serves a point. Two candidates share a region, the first from its lower end up and the second from its
 * upper end down, so that neither pushes the other when it grows: raising a candidate's weight moves users only from
 * stable to it. What a region doesn't hold lies on the lowest points that are still free; stable has the rest.
 */
export function choose(split: Split, at: number): number {
  const [stable, only, another] = split;
  if (stable === undefined) throw new RangeError("a split names at least one version");
  if (only === undefined) return stable[0];
  if (another === undefined) return at < only[1] * POINTS_PER_PERCENT ? only[0] : stable[0];
  const found = territoriesOf(split).find(({ start, end }) => start <= at && at < end);
  return found?.version ?? stable[0];
}

/** A stretch of points that a candidate owns, `[start, end)`. */
interface Territory {
  readonly version: number;
  readonly start: number;
  readonly end: number;
}

function territoriesOf(split: Split): Territory[] {
  const regions = Math.floor(split.length / 2);
  const edge = (region: number) => Math.floor((region * POINTS) / regions);
  const owned: Territory[] = [];
  const missing: (readonly [version: number, points: number])[] = [];
  for (const [number, [version, weight]] of split.slice(1).entries()) {
    const region = Math.floor(number / 2);
    const [low, high] = [edge(region), edge(region + 1)];
    const wanted = weight * POINTS_PER_PERCENT;
    const [start, end] =
      number % 2 === 0
        ? [low, Math.min(low + wanted, high)]
        : [Math.max(high - wanted, owned[number - 1]?.end ?? low), high];
    owned.push({ version, start, end });
    missing.push([version, wanted - (end - start)]);
  }
  for (const [version, points] of missing) owned.push(...lowestFree(owned, version, points));
  return owned;
}

/** The lowest points that nobody owns, as many as are wanted. */
function lowestFree(owned: readonly Territory[], version: number, points: number): Territory[] {
  const found: Territory[] = [];
  const inOrder = [...owned].sort((left, right) => left.start - right.start || left.end - right.end);
  let wanted = points;
  let free = 0;
  for (const { start, end } of [...inOrder, { start: POINTS, end: POINTS }]) {
    const taken = Math.min(Math.max(0, start - free), wanted);
    if (taken > 0) found.push({ version, start: free, end: free + taken });
    wanted -= taken;
    free = Math.max(free, end);
  }
  return found;
}
