import { candidateOf, stepsOf } from "./declared.ts";
import { type Ruling, rule } from "./judging.ts";
import {
  askApproval,
  end,
  failWhy,
  finish,
  isRunning,
  leaveStep,
  pause,
  placeText,
  type Subject,
  start,
  type Why,
} from "./phases.ts";
import { duration, gateText } from "./sentences.ts";
import { CALM_MS, current, leftOf, put, type Turn, tell, ticked } from "./turn.ts";
import type { GateName } from "./types.ts";
import { gatesOf } from "./views.ts";
import { reasons } from "./waiting.ts";

/**
 * Moves a model as far as its gates and clock allow in this moment. `cause` is what made us look: `clock`, `gates`,
 * `spec`, `person:<name>`.
 */
export function steer(turn: Turn, name: string, cause: string): void {
  const { rollout } = current(turn, name).spec;
  if (rollout === null) return;
  cool(turn, name);
  // Each round goes one way along the phases, so this many are enough.
  const most = stepsOf(rollout).length + 8;
  for (let round = 0; round < most; round++) {
    const subject = { name, model: current(turn, name), rollout };
    if (!isRunning(subject.model.phase)) return;
    const ruling = rule(subject.model);
    if (!stopped(turn, subject, ruling) && !frozen(turn, subject, ruling) && !advanced(turn, subject, ruling, cause))
      return;
  }
}

/** The old side of a blue-green needs to be warm no longer. */
function cool(turn: Turn, name: string): void {
  const model = current(turn, name);
  if (model.warmUntil === null || model.warmUntil > turn.now) return;
  // What is mirrored is no transition, but isolates take nothing of an old revision.
  turn.state = { ...turn.state, revision: turn.state.revision + 1 };
  put(turn, name, { ...model, warmUntil: null });
}

/** Acts on a fail in whatever phase, unless it has been acted on. A shadow has no traffic that it could harm. */
function stopped(turn: Turn, subject: Subject, { fail, uncontrolled }: Ruling): boolean {
  const { model, rollout } = subject;
  if (model.stoppedBy !== null) return false;
  if (fail !== null && (rollout.strategy !== "shadow" || fail.gate === "golden")) {
    stop(turn, subject, fail.gate, failWhy(subject, fail.gate, fail.version));
    return true;
  }
  const gate = rollout.no_control === "rollback" && rollout.strategy !== "shadow" ? uncontrolled : null;
  if ((gate === null) !== (model.uncontrolled === null)) {
    put(turn, subject.name, { ...model, uncontrolled: gate === null ? null : turn.now });
    return true;
  }
  if (gate === null || model.uncontrolled === null || turn.now - model.uncontrolled < rollout.grace_s * 1000)
    return false;
  const over = `over ${Math.round(rollout.absolute * 100)} % for ${duration(turn.now - model.uncontrolled)}`;
  const alone = `with nothing of ${subject.name}@${rollout.stable} to compare`;
  const text = `${gateText(gate)} of ${subject.name}@${candidateOf(rollout)} stayed ${over}, ${alone}`;
  stop(turn, subject, gate, { cause: `gate:${gate}`, tail: `: ${text}` });
  return true;
}

function stop(turn: Turn, subject: Subject, gate: GateName, why: Why): void {
  if (subject.rollout.on_fail === "rollback") end(turn, subject, "rolled-back", why);
  else pause(turn, subject, gate, why);
}

/** Begins and ends the standstill of a fault that both arms have. */
function frozen(turn: Turn, subject: Subject, ruling: Ruling): boolean {
  const { name, model, rollout } = subject;
  const both = ruling.waits.filter(({ reason }) => reason === "platform");
  const [first] = both;
  if (model.platform === null) {
    if (first === undefined) return false;
  } else if (first !== undefined || (model.calm ?? null) === null) {
    const calm = first === undefined ? turn.now : null;
    if (calm === (model.calm ?? null)) return false;
    put(turn, name, { ...model, calm });
    return true;
  } else if (turn.now - (model.calm ?? 0) < CALM_MS) return false;
  const begins = `holds: ${name}@${rollout.stable} is as bad, ${reasons(both)}`;
  const ends = `goes on: what was bad in both is over after ${duration(turn.now - (model.platform ?? turn.now))}`;
  const sentence = `${name}: ${placeText(subject)} ${first === undefined ? ends : begins}.`;
  const next = ticked({ ...model, platform: first === undefined ? null : turn.now, calm: null }, turn.now);
  const cause = first === undefined ? "gates" : `gate:${first.gate}`;
  put(turn, name, next);
  tell(turn, name, next, { kind: "platform", sentence, cause, gates: gatesOf(model) });
  return true;
}

/** Goes on where nothing is left to wait for. */
function advanced(turn: Turn, subject: Subject, { waits }: Ruling, cause: string): boolean {
  const { model, rollout } = subject;
  if (model.platform !== null) return false;
  if (model.phase === "checking" && waits.length === 0) {
    start(turn, subject, cause);
    return true;
  }
  if (leftOf(model, turn.now) > 0) return false;
  if (model.phase === "watching" && !waits.some(({ reason }) => reason === "suspect")) {
    finish(turn, subject, cause);
    return true;
  }
  if (model.phase !== "stepping" || waits.length > 0) return false;
  const spent = duration(turn.now - model.since);
  const tail = rollout.gates.length > 0 ? `: all gates pass after ${spent}` : `: its hold of ${spent} is over`;
  const step = stepsOf(rollout)[model.step ?? 0];
  if (step?.approval) askApproval(turn, subject, { cause, tail });
  else leaveStep(turn, subject, { cause, tail });
  return true;
}
