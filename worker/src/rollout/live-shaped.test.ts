import { expect, inject, it } from "vitest";
import { bothFail, type Ended, healthy, LiveShaped } from "../../test/support/live-shaped-run.ts";
import { some } from "../../test/support/some.ts";

/** A run is about a second of processor; all of them are `python -m bench.rollout` too, with longer holds. */
const PARTS = inject("long") ? 10 : 1;
const EACH = inject("long") ? 20 : 1;
const parts = Array.from({ length: PARTS }, (_, part) =>
  Array.from({ length: EACH }, (__, at) => part * EACH + at + 1),
);

const ends: Ended[] = [];

/** Vitest takes a test for dead that doesn't let it hear its answers for a minute: a run, then a moment for others. */
async function apart(run: LiveShaped): Promise<Ended> {
  await new Promise((resolve) => setTimeout(resolve));
  return run.run();
}

it.each(parts)(
  "healthy candidates under live-shaped traffic come to their end, from seed %i on",
  async (...seeds) => {
    const found: Ended[] = [];
    for (const seed of seeds) found.push(await apart(healthy(seed)));
    ends.push(...found);
    const open = found.filter(({ phase }) => phase !== "promoted" && phase !== "rolled-back");
    expect(open).toEqual([]);
  },
  120_000,
);

it(`of ${PARTS * EACH} healthy candidates at most one in a hundred is rolled back`, () => {
  const back = ends.filter(({ phase }) => phase === "rolled-back");
  console.log(`${back.length} of ${ends.length} healthy candidates were rolled back`);
  expect(ends).toHaveLength(PARTS * EACH);
  expect(back.length, JSON.stringify(back)).toBeLessThanOrEqual((PARTS * EACH) / 100);
});

it.each(parts)(
  "when both arms fail together no candidate is rolled back, and the screen says platform, from seed %i on",
  async (...seeds) => {
    for (const seed of seeds) {
      const end = await apart(bothFail(seed));
      expect(end.errors, "the fault is there").toBeGreaterThan(0.05);
      expect(end.phase, end.sentence).not.toBe("rolled-back");
      expect(end.platform).toMatch(/^chat: chat@2 at \d+ % holds(, since stable is|: stable was) as bad.*\(platform\)/);
    }
  },
  120_000,
);

it.each([0.2, 0.08])("in the same traffic a candidate of which %d more fail is rolled back by errors", (worse) => {
  for (const seed of some([1, 2, 3], 3)) {
    const run = new LiveShaped({ seed, hold: 120, most: 7_200, worse });
    expect(run.run().phase).toBe("rolled-back");
    expect(run.journal.at(-1)?.cause).toBe("gate:errors");
  }
});
