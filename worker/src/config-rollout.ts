import { GATES, type RolloutSpec } from "./rollout/types.ts";
import * as s from "./schema.ts";

const seconds = s.number(s.least(0));
const percent = (least: number, most: number) => s.number(s.whole, s.least(least), s.most(most));
/** A chance or a rate that is neither never nor always. */
const chance = s.number(s.above(0), s.below(1));
const margin = s.number(s.least(0), s.below(1));

/** A gate, with nothing left to a default. */
export const Gate = s.object({
  name: s.one(GATES),
  margin,
  slo: s.nullable(s.number(s.above(0))),
  mode: s.one(["enforce", "observe"]),
});

const Step = s.object({
  weight: percent(1, 100),
  hold_s: seconds,
  approval: s.boolean,
  margins: s.record(s.one(GATES), margin),
});

/** One rollout as planning writes it: every default is decided there, so nothing may be missing here. */
export const Rollout: s.Schema<RolloutSpec> = s.object({
  strategy: s.one(["canary", "blue-green", "ab", "shadow"]),
  stable: s.positive,
  candidates: s.list(s.positive, [(all) => all.length > 0, "must name at least one version"]),
  arms: s.list(percent(1, 99)),
  steps: s.list(Step),
  gates: s.list(Gate),
  alpha: chance,
  beta: chance,
  min_fail: s.positive,
  min_bad: s.positive,
  min_pass: s.positive,
  absolute: chance,
  control: percent(0, 50),
  checks: s.list(s.one(["golden"])),
  watch_s: seconds,
  warm_s: seconds,
  on_fail: s.one(["rollback", "hold"]),
  no_control: s.one(["hold", "rollback"]),
  grace_s: seconds,
  mirror: percent(0, 100),
  probes: s.nullish(s.object({ every_s: s.number(s.least(1)), usd: s.number(s.above(0)) })),
  attempt: s.count,
});

/** Who is told of each transition. */
export const Rollouts = s.object({
  /** Name of the secret that holds the URL. Null: nobody. */
  webhook_secret: s.orNull(s.text),
  format: s.optional(s.one(["json", "slack"]), "json"),
});
export type Rollouts = s.Of<typeof Rollouts>;

type Fault = readonly [field: string, fault: string];

/** Gates that measure against a limit of their own. */
const WITH_SLO: ReadonlySet<string> = new Set(["first_token", "latency", "speed", "cost"]);

/** Why a rollout can't run with these versions, with the field's path below it; null when it can. */
export function rolloutFault(spec: RolloutSpec, versions: Readonly<Record<string, unknown>>): Fault | null {
  return versionsFault(spec, versions) ?? shapeFault(spec) ?? gatesFault(spec);
}

function versionsFault({ stable, candidates }: RolloutSpec, versions: Readonly<Record<string, unknown>>): Fault | null {
  const named: [string, number][] = [["stable", stable]];
  for (const [at, version] of candidates.entries()) named.push([`candidates.${at}`, version]);
  const seen = new Set<number>();
  for (const [field, version] of named) {
    if (!Object.hasOwn(versions, String(version))) return [field, `version ${version} does not exist`];
    if (seen.has(version)) return [field, `version ${version} is named twice`];
    seen.add(version);
  }
  return null;
}

/** What a strategy must state, and what it can't use. */
function shapeFault({ strategy, candidates, arms, steps, mirror }: RolloutSpec): Fault | null {
  if (strategy !== "ab" && candidates.length > 1) return ["candidates", `a ${strategy} rollout has one`];
  if (strategy === "ab") {
    if (arms.length !== candidates.length) return ["arms", "must be as many as candidates"];
    const sum = arms.reduce((total, weight) => total + weight, 0);
    if (sum > 99) return ["arms", `sum to ${sum}, which leaves stable nothing`];
  } else if (arms.length > 0) return ["arms", "only an ab rollout has them"];
  if (strategy === "shadow" ? mirror === 0 : mirror > 0) {
    return ["mirror", strategy === "shadow" ? "must be at least 1" : "only a shadow rollout has it"];
  }
  return stepsFault(strategy, steps);
}

function stepsFault(strategy: RolloutSpec["strategy"], steps: RolloutSpec["steps"]): Fault | null {
  if (strategy === "ab" || strategy === "shadow") {
    return steps.length === 0 ? null : ["steps", `a rollout by ${strategy} has none`];
  }
  if (steps.length === 0) return ["steps", "must be at least one"];
  if (strategy === "blue-green" && (steps.length > 1 || steps[0]?.weight !== 100)) {
    return ["steps", "a blue-green rollout has one step, of weight 100"];
  }
  let before = 0;
  for (const [at, { weight }] of steps.entries()) {
    if (weight <= before) return [`steps.${at}.weight`, `must be more than ${before}`];
    before = weight;
  }
  return null;
}

function gatesFault({ gates }: RolloutSpec): Fault | null {
  const seen = new Set<string>();
  for (const [at, { name, slo }] of gates.entries()) {
    if (seen.has(name)) return [`gates.${at}.name`, `${name} is named twice`];
    seen.add(name);
    if (WITH_SLO.has(name) !== (slo !== null)) {
      return [`gates.${at}.slo`, WITH_SLO.has(name) ? `${name} needs one` : `${name} has none`];
    }
  }
  return null;
}
