import type { Split } from "../config.ts";

/** What git declares: the split of every model. */
export type RolloutSpec = Record<string, Split>;

/** What is live: the split of every model. */
export type RolloutTable = Record<string, Split>;

/** What the controller remembers of one spec. */
export interface RolloutEntry {
  readonly digest: string;
  readonly table: RolloutTable;
  readonly seededAt: number;
}

/**
 * The entry for a spec: the known one, else a new one whose live weights start as declared. Worker versions with
 * different specs are live side by side during a ramp, so one spec never overwrites another's weights.
 */
export function seed(known: RolloutEntry | null, digest: string, spec: RolloutSpec, now: number): RolloutEntry {
  return known ?? { digest, table: spec, seededAt: now };
}
