import { candidateOf, shareOf } from "./declared.ts";
import { type Ruling, rule } from "./judging.ts";
import { duration, failText, gateText, listed, splitText } from "./sentences.ts";
import type { ModelState } from "./state.ts";
import { CALM_MS, leftOf } from "./turn.ts";
import type { HoldReason, RolloutSpec } from "./types.ts";

/** What a model waits for, as one sentence. */
export function waitingOf(name: string, model: ModelState, now: number): string {
  const { rollout } = model.spec;
  if (rollout === null) return `${name}: the split is git's, ${splitText(name, model.weights)}.`;
  const candidate = `${name}@${candidateOf(rollout)}`;
  if (model.held) {
    return `${name}: ${name}@${rollout.stable} has it all; the rollout of ${candidate} is held until git changes it: ${model.why}.`;
  }
  if (model.phase === "promoted") return `${name}: ${candidate} has it all.`;
  if (model.phase === "checking") return `${name}: waits for the golden prompts of ${candidate}.`;
  return `${name}: ${candidate} at ${shareOf(model.weights, candidateOf(rollout))} %${inTraffic(model, rollout, now)}.`;
}

function inTraffic(model: ModelState, { strategy }: RolloutSpec, now: number): string {
  const { waits } = rule(model);
  if (model.platform !== null) {
    const lasts = waits.some(({ reason }) => reason === "platform");
    if (lasts) return ` holds, since stable is as bad: ${reasons(waits)}`;
    const left = CALM_MS - (now - (model.calm ?? now));
    return ` holds: stable was as bad, and must have been well for ${duration(left)} more (platform)`;
  }
  if (model.phase === "paused") return ` is paused${model.stoppedBy ? `, since ${failText(model.stoppedBy)}` : ""}`;
  if (model.phase === "awaiting") return " waits for a person to promote it";
  if (model.phase === "measuring")
    return ` ${strategy === "ab" ? "is measured" : "is mirrored"} until git or a person ends it`;
  const left = leftOf(model, now);
  const clock = left > 0 ? [`${duration(left)} of its ${model.phase === "watching" ? "watch" : "hold"} are left`] : [];
  // In the watch a gate need not pass once more, but the candidate must not be under suspicion as it ends.
  const open = model.phase === "stepping" ? waits : waits.filter(({ reason }) => reason === "suspect");
  return `: ${[...clock, ...(open.length > 0 ? [reasons(open)] : [])].join("; ") || "goes on at once"}`;
}

/** What keeps gates from a pass: "errors and latency not passed yet". */
export function reasons(waits: Ruling["waits"]): string {
  const of = (reason: HoldReason, before: string, after = "") => {
    const gates = new Set(waits.filter((wait) => wait.reason === reason).map(({ gate }) => gateText(gate)));
    return gates.size > 0 ? [`${before}${listed([...gates])}${after}`] : [];
  };
  return [
    ...of("platform", "", " of both (platform)"),
    ...of("stable-degraded", "stable is bad by itself in "),
    ...of("suspect", "the candidate is suspect in "),
    ...of("no-control", "nothing of stable to compare with in "),
    ...of("inconclusive", "", " not passed yet"),
  ].join(", ");
}
