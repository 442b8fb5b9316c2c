import type { Figures } from "./figures.ts";
import { type Action, type Ended, type ModelState, modelOf, type Refusal, type StageState } from "./state.ts";
import type { GateView, JournalEntry } from "./types.ts";

/** One call of `advance` at work. `state` is replaced, never changed. */
export interface Turn {
  readonly now: number;
  readonly actions: Action[];
  state: StageState;
}

/** What the journal says of one moment. */
export interface Told {
  readonly kind: JournalEntry["kind"];
  readonly sentence: string;
  readonly cause: string;
  readonly gates?: readonly GateView[];
}

/**
 * A fault of both arms is over when no gate has said so for this long. A rate near the limit crosses it again and again,
 * and each time would be an entry, a message to people, and a moment in which weights may move.
 */
export const CALM_MS = 30_000;

/** Ends of one model that are remembered. */
const KEPT_ENDS = 20;

export function put(turn: Turn, name: string, model: ModelState): void {
  turn.state = { ...turn.state, models: { ...turn.state.models, [name]: model } };
}

export function keepFigures(turn: Turn, name: string, figures: Figures): void {
  if (turn.state.figures?.[name] === figures) return;
  turn.state = { ...turn.state, figures: { ...turn.state.figures, [name]: figures } };
}

/** Writes an entry on a model as it is now; nothing moves. */
export function tell(turn: Turn, name: string, model: ModelState, told: Told): void {
  const number = turn.state.journalNumber + 1;
  turn.state = { ...turn.state, journalNumber: number };
  const entry: JournalEntry = {
    number,
    at: turn.now,
    model: name,
    kind: told.kind,
    sentence: told.sentence,
    phase: model.phase,
    weights: model.weights,
    release: turn.state.spec?.release ?? "",
    cause: told.cause,
    gates: told.gates ?? [],
  };
  turn.actions.push({ kind: "journal", entry });
}

/** A transition: the model as it is from now on, under a new revision, and the entry that says so. */
export function move(turn: Turn, name: string, model: ModelState, told: Told): ModelState {
  const revision = turn.state.revision + 1;
  const moved = ticked({ ...model, revision, refused: 0 }, turn.now);
  turn.state = { ...turn.state, revision };
  put(turn, name, moved);
  tell(turn, name, moved, told);
  return moved;
}

export function refuse(turn: Turn, refusal: Refusal): void {
  turn.actions.push({ kind: "refuse", ...refusal });
}

/** Remembers how the model's present spec ended, in place of an earlier end of the same spec. */
export function remember(turn: Turn, name: string, end: Ended): void {
  const others = endsOf(turn.state, name).filter(({ digest }) => digest !== end.digest);
  turn.state = { ...turn.state, ended: { ...turn.state.ended, [name]: [...others, end].slice(-KEPT_ENDS) } };
}

export function endsOf(state: StageState, name: string): readonly Ended[] {
  return Object.hasOwn(state.ended, name) ? (state.ended[name] ?? []) : [];
}

/** The model, which is known to exist. */
export function current(turn: Turn, name: string): ModelState {
  const model = modelOf(turn.state, name);
  if (model === null) throw new RangeError(`no model ${name}`);
  return model;
}

/** The model with its clock running or standing still, as phase and platform ask. */
export function ticked(model: ModelState, now: number): ModelState {
  const { clock } = model;
  if (clock === null) return model;
  const runs = model.platform === null && (model.phase === "stepping" || model.phase === "watching");
  if (runs === (clock.since !== null)) return model;
  return { ...model, clock: runs ? { left: clock.left, since: now } : { left: leftOf(model, now), since: null } };
}

/** Milliseconds of the hold or the watch that are left, at least 0. */
export function leftOf({ clock }: ModelState, now: number): number {
  if (clock === null) return 0;
  return Math.max(0, clock.left - (clock.since === null ? 0 : Math.max(0, now - clock.since)));
}
