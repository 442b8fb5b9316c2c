/** What `growth` stays clearly below where time goes in proportion to the size, and not with its square: 4, and not 16. */
export const QUADRATIC = 10;

/** Milliseconds, of a clock that counts whole ones, below which it says too little. */
const ENOUGH_MS = 5;
const ROUNDS = 3;
/** A machine that is busy in one measurement of three makes nothing look worse than it is. */
const MEASUREMENTS = 3;

/**
 * How many times as long work takes on something four times as large: the best of three times at `4 * size` by the best
 * of three at `size`. `prepare` makes the work on something of a size, and is not timed. What is too quick for the clock
 * is done as often as it takes, and as often at both sizes.
 */
export function growth(size: number, prepare: (size: number) => () => unknown): number {
  const [small, large] = [prepare(size), prepare(4 * size)];
  let least = Number.POSITIVE_INFINITY;
  for (let time = 0; time < MEASUREMENTS && least >= QUADRATIC; time++) least = Math.min(least, slowdown(small, large));
  return least;
}

/** How many times as long `work` takes as `base`, by the best of three times of each. */
export function slowdown(base: () => unknown, work: () => unknown): number {
  for (let repeats = 1; ; repeats *= 2) {
    let least = Number.POSITIVE_INFINITY;
    let most = Number.POSITIVE_INFINITY;
    // In turns, so that a machine that becomes busy meanwhile doesn't slow down one of them alone.
    for (let round = 0; round < ROUNDS && least >= ENOUGH_MS; round++) {
      least = Math.min(least, timeOf(base, repeats));
      if (least >= ENOUGH_MS) most = Math.min(most, timeOf(work, repeats));
    }
    if (least >= ENOUGH_MS) return most / least;
  }
}

function timeOf(work: () => unknown, repeats: number): number {
  const start = performance.now();
  for (let repeat = 0; repeat < repeats; repeat++) work();
  return performance.now() - start;
}
