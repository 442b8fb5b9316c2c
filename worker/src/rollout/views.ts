import { countsOf, difference } from "../gates/gate.ts";
import { type Judgement, judge } from "../gates/verdict.ts";
import { candidateOf, goldenMode, stepsOf } from "./declared.ts";
import { figuresView } from "./figures.ts";
import { type Judged, runOf, settingsOf } from "./judging.ts";
import { type Arm, type ModelState, modelOf, type StageState } from "./state.ts";
import type { GateSpec, GateView, LiveSplits, RolloutSpec, RolloutView, Verdict } from "./types.ts";
import { waitingOf } from "./waiting.ts";

/** Percent of requests that keep the old side of a blue-green warm. */
const WARM_SHARE = 1;

/** One model as screens show it, or null when the stage's spec has no such model. Times in milliseconds. */
export function viewOf(state: StageState, name: string, now: number): RolloutView | null {
  const model = modelOf(state, name);
  if (model === null) return null;
  const { spec, clock, arms } = model;
  const { rollout } = spec;
  return {
    model: name,
    phase: model.phase,
    paused_from: model.pausedFrom,
    strategy: rollout?.strategy ?? null,
    stable: rollout?.stable ?? spec.split[0]?.[0] ?? 0,
    candidates: rollout?.candidates ?? [],
    weights: model.weights,
    step: model.step,
    steps: rollout === null ? [] : stepsOf(rollout),
    since: model.since,
    until: clock === null || clock.since === null ? null : clock.since + clock.left,
    waiting: waitingOf(name, model, now),
    platform: model.platform !== null,
    gates: gatesOf(model),
    readout:
      rollout?.strategy === "ab"
        ? arms.map((arm) => ({ version: arm.version, gates: armGates(model, rollout, arm) }))
        : [],
    figures: figuresView(state.figures?.[name]),
    held: model.held,
    spec_digest: model.digest,
    order: state.spec?.order ?? "",
    revision: state.revision,
    release: state.spec?.release ?? "",
  };
}

/** The gates of one candidate, of `ab` the first, as numbers. */
export function gatesOf(model: Judged, version?: number): GateView[] {
  const { rollout } = model.spec;
  if (rollout === null) return [];
  const wanted = version ?? candidateOf(rollout);
  const arm = model.arms.find((one) => one.version === wanted);
  return arm === undefined ? [] : armGates(model, rollout, arm);
}

/**
 * What is served now. For a worker version whose own spec, known by its digest, has models that the current one has not:
 * those as it declares them.
 */
export function liveSplits(state: StageState, askerDigest?: string): LiveSplits {
  const asker = state.known.find(({ digest }) => digest === askerDigest);
  const models = Object.entries(state.models);
  const older = Object.entries(asker?.models ?? {}).map(([name, { split }]) => [name, split] as const);
  const mirrors = models.flatMap(([name, model]) => {
    const mirror = mirrorOf(model);
    return mirror === null ? [] : [[name, mirror] as const];
  });
  return {
    revision: state.revision,
    weights: Object.fromEntries([...older, ...models.map(([name, { weights }]) => [name, weights] as const)]),
    mirrors: Object.fromEntries(mirrors),
    ramp: Boolean(state.ramp),
  };
}

function mirrorOf({ phase, warmUntil, spec: { rollout } }: ModelState): LiveSplits["mirrors"][string] | null {
  if (rollout === null) return null;
  if (warmUntil !== null) return { version: rollout.stable, share: WARM_SHARE };
  return phase === "measuring" && rollout.strategy === "shadow"
    ? { version: candidateOf(rollout), share: rollout.mirror }
    : null;
}

function armGates(model: Judged, rollout: RolloutSpec, arm: Arm): GateView[] {
  const mode = goldenMode(rollout);
  const declared = rollout.gates.some(({ name }) => name === "golden");
  const checked: GateSpec[] = mode === null || declared ? [] : [{ name: "golden", margin: 0, slo: null, mode }];
  return [...rollout.gates, ...checked].map((gate) => gateView(model, rollout, gate, arm));
}

function gateView({ step, golden }: Judged, rollout: RolloutSpec, gate: GateSpec, arm: Arm): GateView {
  const { name, mode, slo } = gate;
  const run = runOf(arm, name);
  const settings = settingsOf(rollout, gate, step);
  const { ms, ys, mc, yc } = countsOf(run);
  return {
    name,
    mode: name === "golden" ? (goldenMode(rollout) ?? mode) : mode,
    margin: settings.margin,
    slo,
    ...(name === "golden" ? reported(golden?.verdict ?? "inconclusive") : judge(run, settings)),
    stable: { requests: ms, bad: ys },
    candidate: { requests: mc, bad: yc },
    difference: difference(run),
  };
}

/** A verdict that comes from outside has all of its evidence or none. */
function reported(verdict: Verdict): Judgement {
  const reason = verdict === "inconclusive" ? verdict : null;
  return { verdict, reason, failing: verdict === "fail" ? 1 : 0, passing: verdict === "pass" ? 1 : 0 };
}
