import { canonicalJson } from "../canonical.ts";
import type { Split } from "../config.ts";
import { affinityOf } from "../routing/affinity.ts";
import type { GateSpec, ModelSpec, RolloutSpec, Step } from "./types.ts";

/** 32 hex digits, the same for equal specs of a model, whatever the order of their keys. */
export function digestOf(name: string, spec: ModelSpec): string {
  return affinityOf(name, canonicalJson(spec));
}

/** The steps, of which the last has it all: one is added where git stops before, since 100 % is judged too. */
export function stepsOf({ strategy, steps }: RolloutSpec): readonly Step[] {
  const last = steps.at(-1);
  if (strategy === "ab" || strategy === "shadow") return [];
  if (last === undefined) return [{ weight: 100, hold_s: 0, approval: false, margins: {} }];
  return last.weight >= 100 ? steps : [...steps, { ...last, weight: 100, approval: false, margins: {} }];
}

/** The candidate that may be promoted; of `ab` and `shadow`, the first. */
export function candidateOf(rollout: RolloutSpec): number {
  return rollout.candidates[0] ?? rollout.stable;
}

/** The split with the candidate at a step's weight: never into what stays with stable as control. */
export function weightsAt(rollout: RolloutSpec, weight: number): Split {
  const share = Math.min(weight, 100 - rollout.control);
  return [
    [rollout.stable, 100 - share],
    [candidateOf(rollout), share],
  ];
}

/** The fixed split of `ab`; of `shadow`, nothing for the candidate. */
export function measuredWeights({ strategy, stable, candidates, arms }: RolloutSpec): Split {
  const shares = candidates.map((version, at) => [version, strategy === "ab" ? (arms[at] ?? 0) : 0] as const);
  return [[stable, 100 - shares.reduce((sum, [, share]) => sum + share, 0)], ...shares];
}

/** What one version has, in percent. */
export function shareOf(weights: Split, version: number): number {
  return weights.reduce((sum, [other, weight]) => (other === version ? sum + weight : sum), 0);
}

/** The gates that requests feed; golden prompts are reported instead. */
export function liveGates({ gates }: RolloutSpec): readonly GateSpec[] {
  return gates.filter(({ name }) => name !== "golden");
}

/** How golden prompts count: not at all, to be looked at, or as a limit. */
export function goldenMode({ gates, checks }: RolloutSpec): GateSpec["mode"] | null {
  return checks.includes("golden") ? "enforce" : (gates.find(({ name }) => name === "golden")?.mode ?? null);
}
