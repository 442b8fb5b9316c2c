import { take, takeCheck } from "./commands.ts";
import { takeBatch } from "./hygiene.ts";
import { probe } from "./probing.ts";
import { countRamp, takeRamp } from "./ramp.ts";
import { takeSpec, withdraw } from "./specs.ts";
import type { Action, Event, StageState } from "./state.ts";
import { steer } from "./steer.ts";
import { CALM_MS, type Turn } from "./turn.ts";

export { rampView } from "./ramp.ts";
export { type Action, type Event, type ModelState, newStage, type Refusal, type StageState } from "./state.ts";
export { liveSplits, viewOf } from "./views.ts";

/**
 * Decides what becomes of every rollout of a stage: pure, so that a test is a list of events, and what is persisted is
 * all there is.
 *
 * ```
 *   a plain split ──► split                       ab, shadow ──► measuring ──────────┐
 *                                                                    ▲               │
 *   canary,      with checks    golden passes ───────────────────────┤               │
 *   blue-green ──► checking ──► stepping ◄──── next step ────┐       │               │ abort, rollback: aborted
 *        │                         │ ▲                       │                       │ gate fails: rolled-back
 *        └─── without checks ──────┘ │ hold over,            │                       │
 *                                    │ all gates pass ───────┤ approval: awaiting ───┤ promote: next step, or promoted
 *                                    │                       │                       │
 *                                    │                       ▼ after the last step   │
 *   paused ◄── pause ── any of these │                    watching ──────────────────┤ rollback, gate fails: rolled-back
 *     └─ resume: where it was ───────┘                       │ watch over            │
 *                                                            ▼                       ▼
 *                                                        promoted ── rollback ──► rolled-back
 * ```
 *
 * - `promote` in `checking`, `stepping` and `paused` goes to `watching` at once.
 * - A gate that fails acts in every phase with traffic: rolled back, or with `on_fail: hold` paused.
 * - While both arms are bad (`platform`), and until they have not been for half a minute, weights and clocks stand still.
 * - `aborted` and `rolled-back` end only by another spec of the model; the one that failed starts nothing again.
 * - Each transition raises the revision and writes one journal entry with the weights from then on.
 *
 * `now` is in milliseconds since the epoch. Throws nothing; what a caller did wrong is a `refuse`.
 */
export function advance(state: StageState, event: Event, now: number): { state: StageState; actions: Action[] } {
  const turn: Turn = { now, actions: [], state };
  // A hold that is over is over for whatever comes next, though its own alarm may be late.
  const due = event.kind === "clock" || (state.alarm !== null && state.alarm <= now);
  for (const name of due ? Object.keys(state.models) : []) steer(turn, name, "clock");
  if (event.kind === "spec") takeSpec(turn, event.spec);
  else if (event.kind === "batch") {
    if (takeBatch(turn, event.batch)) countRamp(turn, event.batch, event.worker);
  } else if (event.kind === "ramp") takeRamp(turn, event.order);
  else if (event.kind === "command") take(turn, event);
  else if (event.kind === "check") takeCheck(turn, event);
  else if (event.kind === "withdraw") withdraw(turn, event.order, event.actor);
  for (const name of Object.keys(turn.state.models)) probe(turn, name);
  const alarm = nextAlarm(turn.state, now);
  // A clock's own alarm is spent when it comes, too early or not: it is always told anew.
  if (alarm !== state.alarm || event.kind === "clock") turn.actions.push({ kind: "alarm", at: alarm });
  return { state: alarm === turn.state.alarm ? turn.state : { ...turn.state, alarm }, actions: turn.actions };
}

/** When a hold, a watch or a grace time is over next, after `now`; null when none runs. */
function nextAlarm({ models }: StageState, now: number): number | null {
  const ends = Object.values(models).flatMap(({ clock, uncontrolled, warmUntil, spec, platform, calm, probing }) => [
    probing?.next ?? 0,
    clock === null || clock.since === null ? 0 : clock.since + clock.left,
    warmUntil ?? 0,
    platform === null ? 0 : (calm ?? Number.NEGATIVE_INFINITY) + CALM_MS,
    uncontrolled === null ? 0 : uncontrolled + (spec.rollout?.grace_s ?? 0) * 1000,
  ]);
  const next = Math.min(...ends.filter((at) => at > now));
  return Number.isFinite(next) ? next : null;
}
