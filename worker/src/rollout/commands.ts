import { candidateOf, goldenMode, stepsOf } from "./declared.ts";
import { end, isRunning, isWatched, leaveStep, pause, promote, resume, type Subject } from "./phases.ts";
import { listed, oneLine } from "./sentences.ts";
import { type CheckEvent, type CommandEvent, type ModelState, modelOf, type Refusal } from "./state.ts";
import { steer } from "./steer.ts";
import { put, refuse, type Told, type Turn, tell } from "./turn.ts";
import type { Command, RolloutSpec } from "./types.ts";

/** What a person asks for. Refused, and said so in the journal, when it makes no sense now or the model has moved. */
export function take(turn: Turn, event: CommandEvent): void {
  const subject = subjectOf(turn, event.model);
  if (subject === null) return;
  const { model, name } = subject;
  const cause = `person:${oneLine(event.actor)}`;
  const { revision } = turn.state;
  const stale = event.expect !== null && (event.expect < model.revision || event.expect > revision);
  const refusal = stale ? moved(name, revision) : unfit(subject, event.command);
  if (refusal !== null) {
    refuse(turn, refusal);
    const sentence = `${name}: ${event.command} by ${oneLine(event.actor)} is refused: ${refusal.message}`;
    tellRefused(turn, name, model, { kind: "refused", sentence, cause });
    return;
  }
  obey(turn, subject, event, cause);
  steer(turn, name, cause);
}

/** Refusals of one model that are written down between two of its moves: a script that asks for ever fills no journal. */
const TOLD_REFUSALS = 10;

function tellRefused(turn: Turn, name: string, model: ModelState, told: Told): void {
  const refused = (model.refused ?? 0) + 1;
  if (refused > TOLD_REFUSALS) return;
  const counted = { ...model, refused };
  put(turn, name, counted);
  const last = refused === TOLD_REFUSALS ? " Further refusals are not written down before it moves." : "";
  tell(turn, name, counted, { ...told, sentence: `${told.sentence}${last}` });
}

/** What was reported of the golden prompts: a pre-check, and a gate where git declares one. */
export function takeCheck(turn: Turn, event: CheckEvent): void {
  const { model: name, verdict, summary, actor } = event;
  const subject = subjectOf(turn, name);
  if (subject === null) return;
  const { model, rollout } = subject;
  if (rollout === null || goldenMode(rollout) === null || !isRunning(model.phase)) {
    const message = `No rollout of ${name} waits for golden prompts.`;
    refuse(turn, {
      code: "no_check_wanted",
      message,
      hint: "Declare `checks` or a `golden` gate in the model's rollout.",
    });
    return;
  }
  const other = otherVersions(rollout, event);
  if (other !== null) {
    const message = `The rollout of ${name} is of ${name}@${rollout.stable} and ${name}@${candidateOf(rollout)}, not of ${name}@${other}.`;
    refuse(turn, { code: "other_versions", message, hint: "Evaluate the versions of the rollout, and report that." });
    return;
  }
  const said = oneLine(summary);
  const checked = { ...model, golden: { verdict, summary: said } };
  put(turn, name, checked);
  const word = verdict === "inconclusive" ? "are inconclusive" : verdict;
  const sentence = `${name}: golden prompts of ${name}@${candidateOf(rollout)} ${word}${said ? `: ${said}` : ""}.`;
  const cause = `person:${oneLine(actor)}`;
  tell(turn, name, checked, { kind: "check", sentence, cause });
  steer(turn, name, cause);
}

/** A version that was evaluated and is none of the rollout's: its spec has changed since the prompts were asked. */
function otherVersions(rollout: RolloutSpec, { stable, candidate }: CheckEvent): number | null {
  if (candidate !== null && !rollout.candidates.includes(candidate)) return candidate;
  return stable === null || stable === rollout.stable ? null : stable;
}

type Asked = { readonly name: string; readonly model: Subject["model"]; readonly rollout: Subject["rollout"] | null };

function subjectOf(turn: Turn, name: string): Asked | null {
  const model = modelOf(turn.state, name);
  if (model !== null) return { name, model, rollout: model.spec.rollout };
  const message = `No model ${oneLine(name, 60)} is declared in this stage.`;
  refuse(turn, { code: "model_not_found", message, hint: "`sluiceway rollout list` shows those that are." });
  return null;
}

function moved(name: string, revision: number): Refusal {
  const message = `${name} has moved since then; the stage is at revision ${revision}.`;
  return { code: "revision_moved", message, hint: "Look at it once more, and ask again if it still makes sense." };
}

/** The commands that make sense now. */
function fitting({ model, rollout }: Asked): readonly Command[] {
  const { phase } = model;
  if (rollout !== null && phase === "promoted") return ["rollback"];
  if (rollout === null || !isRunning(phase)) return [];
  const clock: readonly Command[] = phase === "paused" ? ["resume"] : phase === "measuring" ? [] : ["pause"];
  if (isWatched(model)) return [...clock, "rollback"];
  return stepsOf(rollout).length > 0 ? [...clock, "promote", "abort", "rollback"] : [...clock, "abort", "rollback"];
}

/** Why a command makes no sense in this phase, or null. */
function unfit(asked: Asked, command: Command): Refusal | null {
  const fits = fitting(asked);
  if (fits.includes(command)) return null;
  const { name, model, rollout } = asked;
  const is = rollout === null ? "has no rollout" : `is ${model.phase}`;
  const git = rollout === null ? "The split is git's: change it there." : "Raise `attempt` in git to try once more.";
  const hint = fits.length > 0 ? `It takes ${listed(fits.map((fit) => `\`${fit}\``))}.` : git;
  return { code: `cannot_${command}`, message: `${name} ${is}, which takes no ${command}.`, hint };
}

function obey(
  turn: Turn,
  { name, model, rollout }: Asked,
  { command, actor, reason }: CommandEvent,
  cause: string,
): void {
  if (rollout === null) return;
  const subject = { name, model, rollout };
  const said = oneLine(reason ?? "");
  const by = `by ${oneLine(actor)}${said && `, ${said}`}`;
  const why = { cause, tail: ` ${by}` };
  const back = command === "rollback" && (model.phase === "promoted" || isWatched(model));
  if (command === "pause") pause(turn, subject, null, why);
  else if (command === "resume") resume(turn, subject, why);
  else if (command !== "promote") end(turn, subject, back ? "rolled-back" : "aborted", why);
  else if (model.phase === "awaiting") leaveStep(turn, subject, { cause, tail: `, approved ${by}` });
  else promote(turn, subject, { cause, tail: ` ${by}, before its steps were over` });
}
