import { candidateOf, shareOf } from "./declared.ts";
import { type Ruling, rule } from "./judging.ts";
import { duration, failText, gateText, listed, splitText } from "./sentences.ts";
import type { ModelState } from "./state.ts";
import { leftOf } from "./turn.ts";
import type { RolloutSpec } from "./types.ts";

/** What a model waits for, as one sentence. */
export function waitingOf(name: string, model: ModelState, now: number): string {
  const { rollout } = model.spec;
  if (rollout === null) return `${name}: the split is git's, ${splitText(name, model.weights)}.`;
  const candidate = `${name}@${candidateOf(rollout)}`;
  if (model.phase === "aborted" || model.phase === "rolled-back") {
    return `${name}: ${name}@${rollout.stable} has it all; the rollout of ${candidate} is held until git changes it: ${model.why}.`;
  }
  if (model.phase === "promoted") return `${name}: ${candidate} has it all.`;
  if (model.phase === "checking") return `${name}: waits for the golden prompts of ${candidate}.`;
  return `${name}: ${inTraffic(name, model, rollout, now)}.`;
}

function inTraffic(name: string, model: ModelState, rollout: RolloutSpec, now: number): string {
  const candidate = `${name}@${candidateOf(rollout)}`;
  const ruling = rule(model);
  const at = `${candidate} at ${shareOf(model.weights, candidateOf(rollout))} %`;
  if (model.platform !== null) return `${at} holds, since stable is as bad: ${reasons({ ...ruling, fail: null })}`;
  if (model.phase === "paused")
    return `${at} is paused${model.stoppedBy ? `, since ${failText(model.stoppedBy)}` : ""}`;
  if (model.phase === "awaiting") return `${at} waits for a person to promote it`;
  if (model.phase === "measuring")
    return `${rollout.strategy === "ab" ? "measures" : "mirrors"} until git or a person ends it`;
  const left = leftOf(model, now);
  const clock = left > 0 ? [`${duration(left)} of its ${model.phase === "watching" ? "watch" : "hold"} are left`] : [];
  const gates = ruling.waits.length > 0 && model.phase === "stepping" ? [reasons(ruling)] : [];
  const suspect = model.phase === "watching" && left === 0 ? [reasons(ruling)] : [];
  return `${at}: ${[...clock, ...gates, ...suspect].join("; ") || "goes on at once"}`;
}

/** "errors and latency have not passed yet", or the plainest word for what keeps a gate from saying more. */
export function reasons({ waits, fail }: Ruling): string {
  if (fail !== null) return failText(fail.gate);
  const of = (reason: string) =>
    listed([...new Set(waits.filter((wait) => wait.reason === reason).map(({ gate }) => gateText(gate)))]);
  const [platform, degraded, suspect, alone, open] = [
    of("platform"),
    of("stable-degraded"),
    of("suspect"),
    of("no-control"),
    of("inconclusive"),
  ];
  const parts = [
    platform && `${platform} of both (platform)`,
    degraded && `stable is bad by itself in ${degraded}`,
    suspect && `the candidate is suspect in ${suspect}`,
    alone && `nothing of stable to compare with in ${alone}`,
    open && `${open} not passed yet`,
  ];
  return parts.filter(Boolean).join(", ");
}
