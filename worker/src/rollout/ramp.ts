import { absorbed, type Gated } from "./hygiene.ts";
import { armsOf, rule } from "./judging.ts";
import { restepped } from "./phases.ts";
import type { Turn } from "./turn.ts";
import type { Batch, GateSpec, RampView, RolloutSpec } from "./types.ts";
import { gatesOf } from "./views.ts";

/** What whoever moves worker versions asks to be judged. Times in milliseconds since the epoch. */
export interface RampOrder {
  /** Ids of worker versions. */
  readonly old: string;
  readonly new: string;
  /** When the ramp began, and when the present shares did: what was admitted before those is no evidence. */
  readonly since: number;
  readonly step: number;
  readonly gates: readonly GateSpec[];
}

export interface Ramp extends RampOrder {
  /** When somebody last asked. */
  readonly asked: number;
  /** The old version as stable, `0`, and the new one as its candidate, `1`. */
  readonly judged: Gated;
}

/** Nobody has asked for as long: its runner will not come back. */
const KEPT_MS = 86_400_000;

/** How worker versions are judged: as a rollout with the usual settings. */
const PAIR: RolloutSpec = {
  ...{ strategy: "canary", stable: 0, candidates: [1], arms: [], steps: [], gates: [] },
  ...{ alpha: 0.01, beta: 0.05, min_fail: 10, min_bad: 3, min_pass: 50, absolute: 0.2, control: 0, checks: [] },
  ...{ watch_s: 0, warm_s: 0, on_fail: "rollback", no_control: "hold", grace_s: 0, mirror: 0, attempt: 0 },
};

/** Begins a ramp or goes on with it: as often as anybody asks, also after a runner was killed. Null: it is over. */
export function takeRamp(turn: Turn, order: RampOrder | null): void {
  const { ramp } = turn.state;
  if (order === null) {
    if (ramp) turn.state = { ...turn.state, ramp: null };
    return;
  }
  const same = ramp?.old === order.old && ramp.new === order.new && ramp.since === order.since;
  const rollout = { ...PAIR, gates: order.gates };
  const known = same ? ramp.judged.arms : [];
  // Each step must earn its own pass; one that is older than what is known is an ask that came late.
  const step = same ? Math.max(ramp.step, order.step) : order.step;
  const arms = armsOf(rollout, same && step > ramp.step ? known.map(restepped) : known, turn.now);
  const judged = { spec: { split: [], rollout }, arms, step: null, golden: null, weightsSince: step };
  turn.state = { ...turn.state, ramp: { ...order, step, asked: turn.now, judged } };
}

/** Counts what a worker version's isolate tells, whatever the model, where that version is one of two on their way. */
export function countRamp(turn: Turn, { outcomes }: Batch, worker: string | undefined): void {
  const { ramp } = turn.state;
  if (!ramp || worker === undefined) return;
  if (turn.now - ramp.asked > KEPT_MS) {
    turn.state = { ...turn.state, ramp: null };
    return;
  }
  const version = [ramp.old, ramp.new].indexOf(worker);
  if (version < 0) return;
  // Each request once, when it is over: it was told of as late by another limit.
  const whole = outcomes.flatMap((one) => (one.part === "late" ? [] : [{ ...one, version, part: "whole" as const }]));
  turn.state = { ...turn.state, ramp: { ...ramp, judged: absorbed(ramp.judged, whole, [], turn.now) } };
}

export function rampView(ramp: Ramp | null | undefined): RampView | null {
  if (!ramp) return null;
  const { old, new: next, since, step, judged } = ramp;
  const { fail, waits } = rule(judged);
  const wait = fail === null ? (waits.find(({ reason }) => reason === "platform") ?? waits[0]) : undefined;
  const verdict = fail === null ? (wait === undefined ? "pass" : "inconclusive") : "fail";
  return {
    ...{ old, new: next, since, step, verdict },
    gate: fail?.gate ?? wait?.gate ?? null,
    reason: wait?.reason ?? null,
    gates: gatesOf(judged),
  };
}
