import { countsOf, evidence, type GateSettings, type GateState, newGate } from "../gates/gate.ts";
import { combined, isDoubted, judge } from "../gates/verdict.ts";
import { candidateOf, goldenMode, liveGates, stepsOf } from "./declared.ts";
import type { Arm, ModelState } from "./state.ts";
import type { GateName, GateSpec, HoldReason, RolloutSpec } from "./types.ts";

/** What gates are judged by: a model on its way, or worker versions on theirs. */
export type Judged = Pick<ModelState, "spec" | "arms" | "step" | "golden">;

/** What the gates that enforce say together. */
export interface Ruling {
  /** The gate with the most evidence, and the version that it speaks of. */
  readonly fail: { readonly gate: GateName; readonly version: number } | null;
  /** Of each gate that has not passed. */
  readonly waits: readonly { readonly gate: GateName; readonly reason: HoldReason }[];
  /** A candidate is over the absolute limit, and no request of stable is there to compare with. */
  readonly uncontrolled: GateName | null;
}

/** What a gate is judged by now. Several arms share the chance of a false fail, as the gates that enforce do. */
export function settingsOf(rollout: RolloutSpec, gate: GateSpec, step: number | null): GateSettings {
  const margins = step === null ? undefined : stepsOf(rollout)[step]?.margins;
  return {
    margin: margins?.[gate.name] ?? gate.margin,
    alpha: rollout.alpha / Math.max(1, rollout.candidates.length),
    gates: Math.max(1, enforced(rollout).length),
    beta: rollout.beta,
    minFail: rollout.min_fail,
    minBad: rollout.min_bad,
    minPass: rollout.min_pass,
    absolute: rollout.absolute,
  };
}

/** The arms of a rollout with a gate for each limit; what `known` arms have learnt stays. */
export function armsOf(rollout: RolloutSpec, known: readonly Arm[], now: number): Arm[] {
  return rollout.candidates.map((version) => {
    const old = known.find((arm) => arm.version === version);
    const runs = liveGates(rollout).map(({ name }) => [name, old?.runs[name] ?? newGate()] as const);
    return {
      version,
      runs: Object.fromEntries(runs),
      clients: old?.clients ?? [],
      clientsSince: old?.clientsSince ?? now,
    };
  });
}

/** What the enforcing gates say of a model in this moment. */
export function rule(model: Judged): Ruling {
  const { rollout } = model.spec;
  if (rollout === null) return { fail: null, waits: [], uncontrolled: null };
  const gates = enforced(rollout);
  const fails = model.arms.flatMap((arm) => failOf(rollout, gates, arm, model));
  fails.sort((left, right) => right.evidence - left.evidence);
  const golden = goldenMode(rollout) === "enforce" ? model.golden?.verdict : "pass";
  const failed = { gate: "golden", version: candidateOf(rollout) } as const;
  const waits = model.arms.flatMap((arm) => waitsOf(rollout, gates, arm, model));
  const waitsGolden = golden === "pass" ? [] : [{ gate: "golden", reason: "inconclusive" } as const];
  return {
    fail: golden === "fail" ? failed : (fails[0] ?? null),
    waits: [...waits, ...waitsGolden],
    uncontrolled: waits.find(({ reason, alone }) => alone && reason === "suspect")?.gate ?? null,
  };
}

export function runOf(arm: Arm, gate: GateName): GateState {
  return arm.runs[gate] ?? newGate();
}

function enforced(rollout: RolloutSpec): readonly GateSpec[] {
  return liveGates(rollout).filter(({ mode }) => mode === "enforce");
}

function failOf(rollout: RolloutSpec, gates: readonly GateSpec[], arm: Arm, { step }: Judged) {
  const [first] = gates;
  if (first === undefined) return [];
  const runs = gates.map(({ name }) => runOf(arm, name));
  const { verdict, blame } = combined(runs, settingsOf(rollout, first, step));
  const gate = gates[blame ?? 0] ?? first;
  return verdict === "fail"
    ? [{ gate: gate.name, version: arm.version, evidence: evidence(runOf(arm, gate.name)) }]
    : [];
}

/** A gate that fewer of the requests feed than this share of those that feed the busiest one is rare. */
const RARE = 0.02;

/**
 * What keeps an arm in its step. Where nobody streams or hardly anybody asks for JSON, a gate on that would hold a rollout
 * for ever: once another gate has passed, one that is rare is waited for only when what it has seen speaks against the
 * candidate. What is rare is said of the whole rollout and of both arms: users of stable that ask for JSON come to the
 * candidate with the next step, and a step in which they happen to be silent must not pass for them. Either way a gate
 * that fails acts.
 */
function liveWaitsOf(rollout: RolloutSpec, gates: readonly GateSpec[], arm: Arm, model: Judged) {
  const waits = gates.flatMap((gate) => waitOf(rollout, gate, arm, model));
  if (waits.length === gates.length) return waits;
  const busiest = Math.max(...gates.map(({ name }) => requestsOf(runOf(arm, name))));
  return waits.filter((wait) => !isOpen(wait, arm) || requestsOf(runOf(arm, wait.gate)) >= RARE * busiest);
}

/**
 * The same with probes, which are for a step that has hardly any traffic: once they pass, no gate is waited for that has
 * fewer of the candidate's requests in this step than there were probes; and where every other gate passes, nobody waits
 * for probes.
 */
function waitsOf(rollout: RolloutSpec, gates: readonly GateSpec[], arm: Arm, model: Judged) {
  const live = gates.filter(({ name }) => name !== "probes");
  const waits = liveWaitsOf(rollout, live, arm, model);
  const probes = gates.find(({ name }) => name === "probes");
  if (probes === undefined) return waits;
  const [wait] = waitOf(rollout, probes, arm, model);
  if (wait === undefined) {
    const probed = inStep(runOf(arm, "probes"));
    return waits.filter((one) => !isOpen(one, arm) || inStep(runOf(arm, one.gate)) >= probed);
  }
  return waits.length === 0 && live.length > 0 && isOpen(wait, arm) ? [] : [...waits, wait];
}

/** Whether a gate only wants more requests, and nothing that it has seen speaks against the candidate. */
function isOpen({ gate, reason }: { gate: GateName; reason: HoldReason }, arm: Arm): boolean {
  return (reason === "inconclusive" || reason === "no-control") && !isDoubted(runOf(arm, gate));
}

/** The candidate's requests in this step. */
function inStep({ step, pending }: GateState): number {
  return step[2] + pending[2];
}

/** Requests of both arms since the rollout began. */
function requestsOf(run: GateState): number {
  const { ms, mc } = countsOf(run);
  return ms + mc;
}

function waitOf(rollout: RolloutSpec, gate: GateSpec, arm: Arm, { step }: Judged) {
  const run = runOf(arm, gate.name);
  const { verdict, reason } = judge(run, settingsOf(rollout, gate, step));
  const alone = run.pending[0] === 0 && run.pending[2] >= rollout.min_fail;
  return verdict === "pass" ? [] : [{ gate: gate.name, reason: reason ?? ("inconclusive" as const), alone }];
}
