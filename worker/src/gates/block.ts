/** Requests and bad ones of a block, or of several: stable's requests, its bad ones, candidate's requests, its bad ones. */
export type Sums = readonly [ms: number, ys: number, mc: number, yc: number];

/** No request at all. */
export const NONE: Sums = [0, 0, 0, 0];

const TINY = 1e-9;

/** `past` times `share`, and `block`. */
export function plus(past: Sums, block: Sums, share = 1): Sums {
  const [ms, ys, mc, yc] = past;
  return [ms * share + block[0], ys * share + block[1], mc * share + block[2], yc * share + block[3]];
}

/** The rates that a bet assumes, in `(0, 1)`: what past blocks had, drawn towards 4 % while they are few. */
export function ratesOf([ms, ys, mc, yc]: Sums): [stable: number, candidate: number] {
  return [(ys + 0.5) / (ms + 12.5), (yc + 0.5) / (mc + 12.5)];
}

/**
 * Stable's rate at the point of the null's border `candidate - stable = margin` that explains the rates `ts` and `tc`
 * best, for `ms` and `mc` requests. The margin may be negative.
 */
export function project(ts: number, tc: number, ms: number, mc: number, margin: number): number {
  const least = Math.max(0, -margin) + TINY;
  const most = Math.min(1, 1 - margin) - TINY;
  let low = Math.max(least, Math.min(ts, tc - margin));
  let high = Math.min(most, Math.max(ts, tc - margin));
  for (let round = 0; round < 32; round++) {
    const p = (low + high) / 2;
    const q = p + margin;
    // The sign of ms (p - ts) / (p (1 - p)) + mc (q - tc) / (q (1 - q)), which grows with p.
    if (ms * (p - ts) * q * (1 - q) + mc * (q - tc) * p * (1 - p) > 0) high = p;
    else low = p;
  }
  return (low + high) / 2;
}

/**
 * The log e-value of a block, for rates that were assumed before it: how much better they explain it than the border of
 * the null does. Its exponential has a mean of at most 1 under any point of the null, which lies beyond the border as
 * seen from the assumed rates: `candidate - stable <= margin` when `tc > ts + margin`, `>=` when it is smaller.
 */
export function logEvidence(ts: number, tc: number, [ms, ys, mc, yc]: Sums, margin: number): number {
  const p = project(ts, tc, ms, mc, margin);
  const q = p + margin;
  const log =
    ys * Math.log(ts / p) +
    (ms - ys) * Math.log((1 - ts) / (1 - p)) +
    yc * Math.log(tc / q) +
    (mc - yc) * Math.log((1 - tc) / (1 - q));
  if (mc <= 25) return log;
  // One large block must not cost everything that was won before it: a tenth is kept out of the bet.
  return log > 600 ? log + Math.log(0.9) : Math.log(0.1 + 0.9 * Math.exp(log));
}

/** ln of the mean of what these are the logs of. */
export function logMean(logs: readonly number[]): number {
  const most = Math.max(...logs);
  return most + Math.log(logs.reduce((sum, log) => sum + Math.exp(log - most), 0) / logs.length);
}
