import { candidateOf, digestOf, measuredWeights, shareOf, weightsAt } from "./declared.ts";
import { newFigures } from "./figures.ts";
import { armsOf } from "./judging.ts";
import { compareOrders } from "./order.ts";
import { isRunning, isWatched, start } from "./phases.ts";
import { oneLine, rolloutText, splitText } from "./sentences.ts";
import { type Ended, type ModelState, modelOf } from "./state.ts";
import { steer } from "./steer.ts";
import { endsOf, keepFigures, move, refuse, remember, type Turn, tell } from "./turn.ts";
import type { ModelSpec, RolloutSpec, StageSpec } from "./types.ts";

/** Specs beside the current one that a withdrawal can go back to. */
const KEPT_SPECS = 3;
const KEPT_WITHDRAWN = 200;

/** A spec that a worker version reads. Only the newest that was not withdrawn moves anything. */
export function takeSpec(turn: Turn, spec: StageSpec): void {
  const { state } = turn;
  if (state.withdrawn.includes(spec.order)) return;
  const later = state.spec === null ? 1 : compareOrders(spec.order, state.spec.order);
  if (later > 0) adopt(turn, spec, state.spec === null ? [] : [state.spec], "spec");
  else if (later < 0 && !state.known.some(({ order }) => order === spec.order)) {
    turn.state = { ...state, known: newest([...state.known, spec]) };
  }
}

/** A worker version that was taken back: its spec never counts again, and the newest other one does. */
export function withdraw(turn: Turn, order: string, actor: string): void {
  const { state } = turn;
  if (state.withdrawn.includes(order)) return;
  const [next, ...others] = state.known.filter((spec) => spec.order !== order);
  const isCurrent = state.spec?.order === order;
  if (isCurrent && next === undefined) {
    const message = "The spec to withdraw is the only one that this stage knows.";
    refuse(turn, {
      code: "nothing_to_return_to",
      message,
      hint: "Deploy the spec that should hold; it is taken at once.",
    });
    return;
  }
  const known = next === undefined ? [] : isCurrent ? others : [next, ...others];
  turn.state = { ...state, known, withdrawn: [...state.withdrawn, order].slice(-KEPT_WITHDRAWN) };
  const cause = `person:${oneLine(actor)}`;
  const before = turn.actions.length;
  if (isCurrent && next !== undefined) adopt(turn, next, [], cause);
  if (turn.actions.length === before) tellWithdrawn(turn, order, cause);
}

/** A worker version was withdrawn and no model moved: once for each model, whose history it is part of. */
function tellWithdrawn(turn: Turn, order: string, cause: string): void {
  const which = oneLine(order, 100);
  for (const [name, model] of Object.entries(turn.state.models)) {
    const sentence = `${name}: the worker version of ${which} is withdrawn; nothing of ${name} moves.`;
    tell(turn, name, model, { kind: "spec", sentence, cause });
  }
}

function adopt(turn: Turn, spec: StageSpec, replaced: readonly StageSpec[], cause: string): void {
  const before = turn.state;
  turn.state = { ...before, spec, known: newest([...replaced, ...before.known]) };
  if (before.spec?.digest === spec.digest) return;
  for (const [name, model] of Object.entries(spec.models)) begin(turn, name, model, cause);
  for (const [name, model] of Object.entries(before.models)) {
    if (!Object.hasOwn(spec.models, name)) forget(turn, name, model, cause);
  }
}

function newest(specs: readonly StageSpec[]): StageSpec[] {
  return [...specs].sort((left, right) => compareOrders(right.order, left.order)).slice(0, KEPT_SPECS);
}

function forget(turn: Turn, name: string, model: ModelState, cause: string): void {
  const { [name]: _, ...models } = turn.state.models;
  const { [name]: __, ...figures } = turn.state.figures ?? {};
  turn.state = { ...turn.state, models, figures, revision: turn.state.revision + 1 };
  tell(turn, name, model, { kind: "spec", sentence: `${name}: git declares it no longer.`, cause });
}

/** One model under a new spec. What git did not change stays as it is, and what has failed is not tried again. */
function begin(turn: Turn, name: string, spec: ModelSpec, cause: string): void {
  const digest = digestOf(name, spec);
  const old = modelOf(turn.state, name);
  if (old?.digest === digest) return;
  const { rollout } = spec;
  const end = endsOf(turn.state, name).find((known) => known.digest === digest);
  const stays = old !== null && rollout !== null && isSame(old, rollout);
  if (!stays && old?.spec.rollout && isRunning(old.phase)) {
    const at = `${shareOf(old.weights, candidateOf(old.spec.rollout))} %`;
    const what = rolloutText(name, old.spec.rollout);
    const withdrawn = `${what} ends at ${at}: the worker version that declared it was withdrawn`;
    const sentence = `${name}: ${cause === "spec" ? `git ends ${what} at ${at}` : withdrawn}.`;
    tell(turn, name, old, { kind: "spec", sentence, cause });
  }
  const model = fresh(turn, spec, digest);
  if (rollout === null) {
    const sentence = `${name}: the split is git's, ${splitText(name, spec.split)}.`;
    move(turn, name, model, { kind: "spec", sentence, cause });
  } else if (end !== undefined && (end.phase !== "promoted" || cause !== "spec")) {
    reinstate(turn, name, model, rollout, end, cause);
  } else if (stays) keepOn(turn, name, old, model, rollout, cause);
  else if (rollout.checks.length > 0) {
    // A person may promote it from here.
    keepFigures(turn, name, newFigures(turn.now));
    const checking: ModelState = {
      ...model,
      phase: "checking",
      weights: measuredWeights({ ...rollout, strategy: "shadow" }),
    };
    const sentence = `${name}: ${rolloutText(name, rollout)} waits for its golden prompts.`;
    move(turn, name, checking, { kind: "spec", sentence, cause });
  } else {
    start(turn, { name, model, rollout }, cause);
    steer(turn, name, cause);
  }
}

function fresh({ now, state }: Turn, spec: ModelSpec, digest: string): ModelState {
  return {
    spec,
    digest,
    phase: "split",
    pausedFrom: null,
    stoppedBy: null,
    step: null,
    weights: spec.split,
    weightsSince: now,
    since: now,
    clock: null,
    warmUntil: null,
    platform: null,
    uncontrolled: null,
    golden: null,
    arms: [],
    revision: state.revision,
    held: false,
    why: "",
  };
}

/** A spec whose end is known: one that failed is held; one that was promoted is so again, when a withdrawal brings it back. */
function reinstate(turn: Turn, name: string, fresh: ModelState, rollout: RolloutSpec, end: Ended, cause: string): void {
  const [stable, candidate] = [`${name}@${rollout.stable}`, `${name}@${candidateOf(rollout)}`];
  const { phase, why } = end;
  if (phase === "promoted") {
    const model: ModelState = { ...fresh, phase, weights: [[candidateOf(rollout), 100]] };
    move(turn, name, model, { kind: "spec", sentence: `${name}: ${candidate} has it all again.`, cause });
    return;
  }
  const model: ModelState = { ...fresh, phase, why, held: true, weights: [[rollout.stable, 100]] };
  const sentence = `${name}: ${candidate} is held until git changes this spec: ${why}; ${stable} has it all.`;
  move(turn, name, model, { kind: "held", sentence, cause });
}

/** Whether git changed a rollout's settings after the candidate was promoted: nothing that it must earn once more. */
function isSame(old: ModelState, rollout: RolloutSpec): boolean {
  const before = old.spec.rollout;
  if (before === null || !(old.phase === "promoted" || isWatched(old))) return false;
  const steps = rollout.strategy === "canary" || rollout.strategy === "blue-green";
  const pair = before.stable === rollout.stable && candidateOf(before) === candidateOf(rollout);
  return steps && pair && before.attempt === rollout.attempt;
}

function keepOn(
  turn: Turn,
  name: string,
  old: ModelState,
  fresh: ModelState,
  rollout: RolloutSpec,
  cause: string,
): void {
  const done = old.phase === "promoted";
  const weights = done ? old.weights : weightsAt(rollout, 100);
  const same = JSON.stringify(weights) === JSON.stringify(old.weights);
  const arms = done ? old.arms : armsOf(rollout, old.arms, turn.now);
  const weightsSince = same ? old.weightsSince : turn.now;
  const kept: ModelState = { ...old, spec: fresh.spec, digest: fresh.digest, weights, weightsSince, arms };
  if (done) remember(turn, name, { digest: fresh.digest, phase: "promoted", why: "" });
  const sentence = `${name}: git changes how ${name}@${candidateOf(rollout)} is rolled out; it stays promoted.`;
  move(turn, name, kept, { kind: "spec", sentence, cause });
}
