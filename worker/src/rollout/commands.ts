import { candidateOf, goldenMode } from "./declared.ts";
import { end, isRunning, isWatched, leaveStep, pause, promote, resume, type Subject } from "./phases.ts";
import { oneLine } from "./sentences.ts";
import { type CheckEvent, type CommandEvent, modelOf, type Refusal } from "./state.ts";
import { steer } from "./steer.ts";
import { put, refuse, type Turn, tell } from "./turn.ts";

/** What a person asks for. Refused, and said so in the journal, when it makes no sense now or the model has moved. */
export function take(turn: Turn, event: CommandEvent): void {
  const subject = subjectOf(turn, event.model);
  if (subject === null) return;
  const { model, name } = subject;
  const cause = `person:${oneLine(event.actor)}`;
  const { revision } = turn.state;
  const stale = event.expect !== null && (event.expect < model.revision || event.expect > revision);
  const refusal = stale ? moved(name, revision) : (unfit(subject, event.command) ?? null);
  if (refusal !== null) {
    refuse(turn, refusal);
    const sentence = `${name}: ${event.command} by ${oneLine(event.actor)} is refused: ${refusal.message}`;
    tell(turn, name, model, { kind: "refused", sentence, cause });
    return;
  }
  obey(turn, subject, event, cause);
  steer(turn, name, cause);
}

/** What was reported of the golden prompts: a pre-check, and a gate where git declares one. */
export function takeCheck(turn: Turn, { model: name, verdict, summary, actor }: CheckEvent): void {
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
  const said = oneLine(summary);
  const checked = { ...model, golden: { verdict, summary: said } };
  put(turn, name, checked);
  const word = verdict === "inconclusive" ? "are inconclusive" : verdict;
  const sentence = `${name}: golden prompts of ${name}@${candidateOf(rollout)} ${word}${said ? `: ${said}` : ""}.`;
  const cause = `person:${oneLine(actor)}`;
  tell(turn, name, checked, { kind: "check", sentence, cause });
  steer(turn, name, cause);
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

/** Why a command makes no sense in this phase, or null. */
function unfit({ name, model, rollout }: Asked, command: CommandEvent["command"]): Refusal | null {
  const { phase } = model;
  const no = (message: string, hint: string) => ({ code: `cannot_${command}`, message, hint });
  if (rollout === null) return no(`${name} has no rollout; its split is git's.`, "Change the split in git.");
  const candidate = `${name}@${candidateOf(rollout)}`;
  const back = command === "rollback" && phase === "promoted";
  if (!isRunning(phase) && !back) {
    const hint = phase === "promoted" ? "`rollback` goes back to stable." : "Raise `attempt` in git to try once more.";
    return no(`The rollout of ${candidate} has ended: ${phase}.`, hint);
  }
  const fixed = rollout.strategy === "ab" || rollout.strategy === "shadow";
  if (command === "pause" && phase === "paused") return no(`${candidate} is paused already.`, "`resume` goes on.");
  if (command === "pause" && phase === "measuring") return no(`${name} has no clock to stop.`, "`abort` ends it.");
  if (command === "resume" && phase !== "paused") return no(`${candidate} is not paused.`, "`promote` moves it on.");
  if (command === "promote" && fixed) return no(`${rollout.strategy} promotes nothing.`, "Declare a canary in git.");
  if (command === "promote" && isWatched(model))
    return no(`${candidate} is promoted already.`, "`rollback` goes back.");
  if (command === "abort" && isWatched(model)) return no(`${candidate} is promoted already.`, "`rollback` goes back.");
  return null;
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
