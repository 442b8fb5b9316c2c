/** More of an answer tells little more. */
const LOOKED_AT = 4_000;

/**
 * How like two texts are, from 0 to 1: the share of letter pairs that they have in common, in any language and whatever
 * their order. 1 for two empty ones.
 */
export function likeness(left: string, right: string): number {
  if (left === right) return 1;
  const [mine, yours] = [pairsOf(left), pairsOf(right)];
  let common = 0;
  for (const [pair, count] of mine) common += Math.min(count, yours.get(pair) ?? 0);
  const all = sizeOf(mine) + sizeOf(yours);
  return all === 0 ? 0 : (2 * common) / all;
}

function pairsOf(text: string): Map<string, number> {
  const letters = [...text.slice(0, LOOKED_AT).toLowerCase().replaceAll(/\s+/g, " ")];
  const pairs = new Map<string, number>();
  for (let at = 0; at + 1 < letters.length; at++) {
    const pair = `${letters[at]}${letters[at + 1]}`;
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return pairs;
}

function sizeOf(pairs: ReadonlyMap<string, number>): number {
  return [...pairs.values()].reduce((sum, count) => sum + count, 0);
}
