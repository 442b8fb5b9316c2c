import type { ModelState } from "./state.ts";
import { current, put, type Turn } from "./turn.ts";
import type { Outcome, Phase } from "./types.ts";

/** When probes are sent next, and what those of this hour may have cost: each is taken to be as dear as the dearest. */
export interface Probing {
  readonly next: number;
  readonly hour: number;
  readonly usd: number;
  readonly dearest: number;
}

const HOUR_MS = 3_600_000;
/** While a candidate has traffic of its own, or could have some. */
const PROBED: ReadonlySet<Phase> = new Set(["stepping", "awaiting", "watching", "measuring"]);

/** Sends a model's probes if they are due and may cost what they do, and says when to look again. */
export function probe(turn: Turn, name: string): void {
  const model = current(turn, name);
  const { rollout } = model.spec;
  if (rollout === null || !rollout.probes || !PROBED.has(model.phase)) {
    if (model.probing) put(turn, name, { ...model, probing: null });
    return;
  }
  const { every_s, usd: most } = rollout.probes;
  const hour = Math.floor(turn.now / HOUR_MS);
  const known = model.probing ?? { next: turn.now + every_s * 1000, hour, usd: 0, dearest: 0 };
  if (known === model.probing && known.next > turn.now) return;
  const spent = known.hour === hour ? known.usd : 0;
  const versions = [rollout.stable, ...rollout.candidates];
  const usd = spent + known.dearest * versions.length;
  let probing = { ...known, hour, usd: spent };
  if (known.next <= turn.now) {
    // What an hour may cost is gone: the next one has its own.
    if (usd > most) probing = { ...probing, next: (hour + 1) * HOUR_MS };
    else {
      probing = { ...probing, usd, next: turn.now + every_s * 1000 };
      turn.actions.push({ kind: "probe", model: name, versions });
    }
  }
  put(turn, name, { ...model, probing });
}

/** The model with what its probes turned out to cost, as far as that is more than they were taken to. */
export function charged(model: ModelState, outcomes: readonly Outcome[]): ModelState {
  const { probing } = model;
  if (!probing) return model;
  let { usd, dearest } = probing;
  for (const { source, cost_usd } of outcomes) {
    if (source !== "probe" || cost_usd === null || cost_usd <= dearest) continue;
    usd += cost_usd - dearest;
    dearest = cost_usd;
  }
  return usd === probing.usd ? model : { ...model, probing: { ...probing, usd, dearest } };
}
