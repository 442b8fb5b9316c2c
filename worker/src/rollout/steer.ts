import { candidateOf, shareOf, stepsOf } from "./declared.ts";
import { type Ruling, rule } from "./judging.ts";
import {
  askApproval,
  end,
  failWhy,
  finish,
  isRunning,
  leaveStep,
  pause,
  promote,
  type Subject,
  start,
  type Why,
} from "./phases.ts";
import { duration, gateText } from "./sentences.ts";
import { current, leftOf, put, type Turn, tell, ticked } from "./turn.ts";
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
  const [ours, theirs] = [`${subject.name}@${candidateOf(rollout)}`, `${subject.name}@${rollout.stable}`];
  const over = `over ${Math.round(rollout.absolute * 100)} % for ${duration(turn.now - model.uncontrolled)}`;
  const text = `${gateText(gate)} of ${ours} stayed ${over}, with nothing of ${theirs} to compare`;
  stop(turn, subject, gate, { cause: `gate:${gate}`, text });
  return true;
}

function stop(turn: Turn, subject: Subject, gate: GateName, why: Why): void {
  if (subject.rollout.on_fail === "rollback") {
    end(turn, subject, "rolled-back", why);
    return;
  }
  const candidate = candidateOf(subject.rollout);
  const at = `${subject.name}@${candidate} is paused at ${shareOf(subject.model.weights, candidate)} %`;
  pause(turn, subject, gate, { cause: why.cause, text: `${at}: ${why.text}` });
}

/** Begins and ends the standstill of a fault that both arms have. */
function frozen(turn: Turn, { name, model, rollout }: Subject, ruling: Ruling): boolean {
  const both = ruling.waits.filter(({ reason }) => reason === "platform");
  if (both.length > 0 === (model.platform !== null)) return false;
  const candidate = candidateOf(rollout);
  const at = `at ${shareOf(model.weights, candidate)} %`;
  const begins = `holds ${at}: ${name}@${rollout.stable} is as bad, ${reasons({ ...ruling, waits: both })}`;
  const ends = `goes on ${at}: what was bad in both is over after ${duration(turn.now - (model.platform ?? turn.now))}`;
  const next = ticked({ ...model, platform: both.length > 0 ? turn.now : null }, turn.now);
  put(turn, name, next);
  const sentence = `${name}: ${name}@${candidate} ${both.length > 0 ? begins : ends}.`;
  const cause = both[0] === undefined ? "gates" : `gate:${both[0].gate}`;
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
  const text = rollout.gates.length > 0 ? `all gates pass after ${spent}` : `its hold of ${spent} is over`;
  const step = stepsOf(rollout)[model.step ?? 0];
  if (step?.approval) askApproval(turn, subject, { cause, text });
  else if (stepsOf(rollout)[(model.step ?? 0) + 1] === undefined) promote(turn, subject, { cause, text });
  else leaveStep(turn, subject, { cause, text });
  return true;
}
