import type { ModelState } from "./state.ts";
import type { FiguresView, Outcome } from "./types.ts";

/** Buckets of a histogram: each begins at 2^(1/4) of the one before, the first at a millisecond, the last takes all above. */
const PER_DOUBLING = 4;
const BUCKETS = 80;
/** Slots of time over which cost is told. When they are full, each two become one. */
const SLOTS = 60;
const FIRST_SLOT_MS = 10_000;

/** What one version's requests took. Counts by bucket and slot, without those that would be 0 at the end. */
interface VersionFigures {
  requests: number;
  readonly first_token: number[];
  readonly total: number[];
  /** By slot: requests whose cost is known, and what they cost in billionths of a US dollar. */
  readonly slots: [requests: number, nanos: number][];
}

/** Of one rollout since it began, by version: bounded, whatever comes. For people; no gate reads it. */
export interface Figures {
  readonly since: number;
  slot_ms: number;
  readonly versions: Record<string, VersionFigures>;
}

export function newFigures(now: number): Figures {
  return { since: now, slot_ms: FIRST_SLOT_MS, versions: {} };
}

/** The figures with what a batch tells of a model's arms: each request once, in full when it is over. */
export function tallied(figures: Figures, outcomes: readonly Outcome[], model: ModelState, now: number): Figures {
  const { rollout } = model.spec;
  if (rollout === null) return figures;
  const told = outcomes.filter(({ version, source, at, part }) => {
    const mirrored = rollout.strategy === "shadow" && version !== rollout.stable;
    const mine = version === rollout.stable || rollout.candidates.includes(version);
    // A mirrored one that is late is waited for no longer: nothing more comes of it.
    return mine && at >= figures.since && source === (mirrored ? "shadow" : "live") && (mirrored || part !== "late");
  });
  if (told.length === 0) return figures;
  const next = copyOf(figures);
  for (const outcome of told) tally(next, outcome, now);
  return next;
}

/** By hand: the platform's own clone took as long as all that the controller does with a batch. */
function copyOf({ since, slot_ms, versions }: Figures): Figures {
  const copies = Object.entries(versions).map(([version, { requests, first_token, total, slots }]) => {
    const copied: VersionFigures = {
      ...{ requests, first_token: [...first_token], total: [...total] },
      slots: slots.map(([priced, nanos]) => [priced, nanos]),
    };
    return [version, copied] as const;
  });
  return { since, slot_ms, versions: Object.fromEntries(copies) };
}

function tally(figures: Figures, { version, at, failed, first_token_ms, total_ms, cost_usd }: Outcome, now: number) {
  const mine = figures.versions[version] ?? { requests: 0, first_token: [], total: [], slots: [] };
  figures.versions[version] = mine;
  mine.requests++;
  // What fails at once is not quick.
  if (!failed) count(mine.total, total_ms);
  if (!failed && first_token_ms !== null) count(mine.first_token, first_token_ms);
  if (cost_usd === null) return;
  const age = Math.max(0, Math.min(at, now) - figures.since);
  while (age >= SLOTS * figures.slot_ms) widen(figures);
  const place = Math.floor(age / figures.slot_ms);
  while (mine.slots.length <= place) mine.slots.push([0, 0]);
  const slot = mine.slots[place] ?? [0, 0];
  slot[0]++;
  slot[1] += Math.round(cost_usd * 1e9);
}

function count(histogram: number[], ms: number): void {
  const place = Math.min(BUCKETS - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, ms)) * PER_DOUBLING)));
  while (histogram.length <= place) histogram.push(0);
  histogram[place] = (histogram[place] ?? 0) + 1;
}

function widen(figures: Figures): void {
  figures.slot_ms *= 2;
  for (const { slots } of Object.values(figures.versions)) {
    for (let at = 0; at * 2 < slots.length; at++) {
      const [[requests, nanos], [more, most]] = [slots[at * 2] ?? [0, 0], slots[at * 2 + 1] ?? [0, 0]];
      slots[at] = [requests + more, nanos + most];
    }
    slots.length = Math.ceil(slots.length / 2);
  }
}

export function figuresView(figures: Figures | undefined): FiguresView | null {
  if (figures === undefined) return null;
  const { since, slot_ms, versions } = figures;
  return {
    ...{ since, slot_ms, per_doubling: PER_DOUBLING },
    versions: Object.entries(versions).map(([version, { requests, first_token, total, slots }]) => ({
      ...{ version: Number(version), requests, first_token, total },
      cost: slots.map(([priced, nanos]) => [priced, nanos / 1e9] as const),
    })),
  };
}
