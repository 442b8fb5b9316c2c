import { restep } from "../gates/gate.ts";
import { candidateOf, measuredWeights, shareOf, stepsOf, weightsAt } from "./declared.ts";
import { newFigures } from "./figures.ts";
import { armsOf } from "./judging.ts";
import { duration, evidenceText, rolloutText } from "./sentences.ts";
import type { Arm, ModelState } from "./state.ts";
import { keepFigures, move, remember, type Turn } from "./turn.ts";
import type { GateName, Phase, RolloutSpec, Step } from "./types.ts";
import { gatesOf } from "./views.ts";

/** A model with its rollout: what most transitions are of. */
export interface Subject {
  readonly name: string;
  readonly model: ModelState;
  readonly rollout: RolloutSpec;
}

/** "chat@2 at 10 %". */
export function placeText({ name, model, rollout }: Subject): string {
  const candidate = candidateOf(rollout);
  return `${name}@${candidate} at ${shareOf(model.weights, candidate)} %`;
}

/** Who or what moves it, and in which words: `: all gates pass after 10 min`, ` by ann, wrong tone`. */
export interface Why {
  readonly cause: string;
  readonly tail: string;
}

/** Phases in which a rollout is under way. */
export function isRunning(phase: Phase): boolean {
  return phase !== "split" && phase !== "promoted" && phase !== "aborted" && phase !== "rolled-back";
}

/** Whether the candidate has been promoted, and is watched or was when it was paused. */
export function isWatched({ phase, pausedFrom }: ModelState): boolean {
  return phase === "watching" || pausedFrom === "watching";
}

/** What every transition out of a phase leaves behind. */
const AFRESH = { pausedFrom: null, stoppedBy: null, uncontrolled: null, clock: null } as const;

/** From checks to the first step, or to the fixed weights of a measurement. */
export function start(turn: Turn, { name, model, rollout }: Subject, cause: string): void {
  keepFigures(turn, name, newFigures(turn.now));
  const [first] = stepsOf(rollout);
  const begins = `${name}: ${rolloutText(name, rollout)} begins`;
  const gates = { arms: armsOf(rollout, [], turn.now), weightsSince: turn.now, since: turn.now };
  if (first === undefined) {
    const weights = measuredWeights(rollout);
    const sentence = `${begins}, with ${rollout.strategy === "ab" ? "fixed weights" : `${rollout.mirror} % mirrored`}.`;
    const measuring: ModelState = { ...model, ...AFRESH, ...gates, phase: "measuring", weights };
    move(turn, name, measuring, { kind: "start", sentence, cause });
    return;
  }
  const warm = { warmUntil: warmUntil(turn, rollout) };
  const stepped = { ...model, ...AFRESH, ...gates, ...warm, ...atStep(rollout, first, 0) };
  const share = shareOf(stepped.weights, candidateOf(rollout));
  move(turn, name, stepped, { kind: "start", sentence: `${begins} at ${share} %.`, cause });
}

/** Out of a step: to the next one, to a person's approval, or to the watch. */
export function leaveStep(turn: Turn, subject: Subject, why: Why): void {
  const { name, model, rollout } = subject;
  const steps = stepsOf(rollout);
  const at = model.step ?? 0;
  const next = steps[at + 1];
  if (next === undefined) {
    promote(turn, subject, why);
    return;
  }
  const candidate = candidateOf(rollout);
  const stepped = {
    ...model,
    ...AFRESH,
    ...reweighed(turn, model, weightsAt(rollout, next.weight)),
    ...atStep(rollout, next, at + 1),
  };
  const way = `from ${shareOf(model.weights, candidate)} % to ${shareOf(stepped.weights, candidate)} %`;
  const sentence = `${name}: ${name}@${candidate} goes ${way}${why.tail}.`;
  move(turn, name, stepped, { kind: "step", sentence, cause: why.cause, gates: gatesOf(model) });
}

/** At the end of a step that a person must leave. */
export function askApproval(turn: Turn, subject: Subject, why: Why): void {
  const { name, model } = subject;
  const sentence = `${name}: ${placeText(subject)} waits for a person to promote it${why.tail}.`;
  const awaiting: ModelState = { ...model, ...AFRESH, phase: "awaiting", since: turn.now };
  move(turn, name, awaiting, { kind: "approval", sentence, cause: why.cause, gates: gatesOf(model) });
}

/** The candidate becomes stable: all but the control, and the watch begins. */
export function promote(turn: Turn, { name, model, rollout }: Subject, why: Why): void {
  const weights = weightsAt(rollout, 100);
  const watch = rollout.watch_s * 1000;
  const clock = { left: watch, since: null };
  const watched: ModelState = {
    ...model,
    ...AFRESH,
    ...reweighed(turn, model, weights),
    phase: "watching",
    step: null,
    clock,
    warmUntil: model.warmUntil ?? warmUntil(turn, rollout),
  };
  const after = watch > 0 ? ` It is watched for ${duration(watch)}.` : "";
  const sentence = `${name}: ${name}@${candidateOf(rollout)} is promoted${why.tail}.${after}`;
  move(turn, name, watched, { kind: "promoted", sentence, cause: why.cause, gates: gatesOf(model) });
}

/** The watch is over: the control goes to the candidate too. */
export function finish(turn: Turn, { name, model, rollout }: Subject, cause: string): void {
  const candidate = candidateOf(rollout);
  const done: ModelState = {
    ...model,
    ...AFRESH,
    phase: "promoted",
    weights: [[candidate, 100]],
    weightsSince: turn.now,
    since: turn.now,
  };
  const sentence = `${name}: ${name}@${candidate} has it all: no gate failed in ${duration(turn.now - model.since)} of watch.`;
  remember(turn, name, { digest: model.digest, phase: "promoted", why: "" });
  move(turn, name, done, { kind: "done", sentence, cause, gates: gatesOf(model) });
}

/** Back to stable, for good: this spec is held until git changes it. */
export function end(turn: Turn, { name, model, rollout }: Subject, phase: "aborted" | "rolled-back", why: Why): void {
  const ended: ModelState = {
    ...model,
    ...AFRESH,
    phase,
    platform: null,
    step: null,
    weights: [[rollout.stable, 100]],
    weightsSince: turn.now,
    since: turn.now,
    warmUntil: null,
    held: true,
    why: why.tail.replace(/^: /, "").replace(/^ by /, "ended by "),
  };
  const stable = `${name}@${rollout.stable}`;
  const aborted = `${name}: ${name}@${candidateOf(rollout)} is aborted${why.tail}; ${stable} has it all.`;
  const sentence = phase === "aborted" ? aborted : `${name}: rolled back to ${stable}${why.tail}.`;
  remember(turn, name, { digest: model.digest, phase, why: ended.why });
  move(turn, name, ended, { kind: phase, sentence, cause: why.cause, gates: gatesOf(model) });
}

/** Stops the clock and keeps the weights; `gate` is the one that stopped it, or null when a person did. */
export function pause(turn: Turn, subject: Subject, gate: GateName | null, why: Why): void {
  const { name, model } = subject;
  const again = model.phase === "paused";
  const paused: ModelState = {
    ...model,
    phase: "paused",
    pausedFrom: again ? model.pausedFrom : model.phase,
    stoppedBy: gate ?? model.stoppedBy,
    since: again ? model.since : turn.now,
  };
  const sentence = `${name}: ${placeText(subject)} is paused${why.tail}.`;
  move(turn, name, paused, { kind: "paused", sentence, cause: why.cause, gates: gate === null ? [] : gatesOf(model) });
}

/** Goes on where it was paused. After a gate stopped it the evidence starts anew: a person has seen it. */
export function resume(turn: Turn, subject: Subject, why: Why): void {
  const { name, model, rollout } = subject;
  const anew = model.stoppedBy !== null;
  const resumed: ModelState = {
    ...model,
    phase: model.pausedFrom ?? "stepping",
    pausedFrom: null,
    stoppedBy: null,
    since: turn.now,
    arms: anew ? armsOf(rollout, [], turn.now) : model.arms,
    golden: anew && model.golden?.verdict === "fail" ? null : model.golden,
  };
  const sentence = `${name}: ${placeText(subject)} goes on${why.tail}${anew ? "; its gates begin anew" : ""}.`;
  move(turn, name, resumed, { kind: "resumed", sentence, cause: why.cause });
}

/** Why an enforced gate ends it, in numbers. */
export function failWhy({ name, model, rollout }: Subject, gate: GateName, version: number): Why {
  const view = gatesOf(model, version).find((one) => one.name === gate);
  const golden = `golden prompts fail${model.golden?.summary ? `, ${model.golden.summary}` : ""}`;
  const text = gate === "golden" || view === undefined ? golden : evidenceText(name, view, rollout.stable, version);
  return { cause: `gate:${gate}`, tail: `: ${text}` };
}

/** Of `blue-green`: until when the old side is called now and then, from the flip on. */
function warmUntil(turn: Turn, { strategy, warm_s }: RolloutSpec): number | null {
  return strategy === "blue-green" && warm_s > 0 ? turn.now + warm_s * 1000 : null;
}

function atStep(rollout: RolloutSpec, step: Step, index: number) {
  const clock = { left: step.hold_s * 1000, since: null };
  return { phase: "stepping", step: index, weights: weightsAt(rollout, step.weight), clock } as const;
}

/** New weights, and each gate at the start of a step; of a rollout that a gate had stopped, all evidence anew. */
function reweighed(turn: Turn, model: ModelState, weights: ModelState["weights"]) {
  const same = JSON.stringify(weights) === JSON.stringify(model.weights);
  const { rollout } = model.spec;
  const arms = model.stoppedBy !== null && rollout !== null ? armsOf(rollout, [], turn.now) : model.arms.map(restepped);
  const golden = model.stoppedBy === "golden" ? null : model.golden;
  return { weights, arms, golden, weightsSince: same ? model.weightsSince : turn.now, since: turn.now };
}

/** The arm as the weights change. */
export function restepped(arm: Arm): Arm {
  const runs = Object.fromEntries(Object.entries(arm.runs).map(([name, run]) => [name, restep(run)]));
  // Nothing is pending any more, so that nobody has been counted in it.
  return { ...arm, runs, clients: [] };
}
