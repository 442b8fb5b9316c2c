import type { Sums } from "../gates/block.ts";
import { observe } from "../gates/gate.ts";
import { isBad, isBadProbe } from "./classify.ts";
import { liveGates } from "./declared.ts";
import { tallied } from "./figures.ts";
import { type Judged, runOf, settingsOf } from "./judging.ts";
import { isRunning } from "./phases.ts";
import { charged } from "./probing.ts";
import { type Arm, type ModelState, modelOf, type Seen } from "./state.ts";
import { steer } from "./steer.ts";
import { keepFigures, put, type Turn } from "./turn.ts";
import type { Batch, GateSpec, Outcome, RolloutSpec } from "./types.ts";

/** Outcomes that go into the gates as one block, at most. */
const BLOCK = 50;
/** A client is remembered for as long as its block is open, but no longer than this, and no more clients than these. */
const MEMORY_MS = 5000;
const MEMORY_CLIENTS = 500;
/** Isolates whose batch numbers are remembered: those heard last. */
const ISOLATES = 256;

type AllSeen = Readonly<Record<string, Seen>>;
type Feedback = Batch["feedback"][number];

/** What takes evidence. */
export type Gated = Judged & Pick<ModelState, "weightsSince">;

/** One thing that a version did, as the gates see it. */
interface Event {
  readonly version: number;
  readonly client: string;
  readonly bad: (gate: GateSpec) => boolean | null;
}

/** Takes a batch that has not come before, and moves the models that it speaks of. False: it has. */
export function takeBatch(turn: Turn, batch: Batch): boolean {
  const seen = marked(turn.state.seen, batch, turn.now);
  if (seen === null) return false;
  turn.state = { ...turn.state, seen };
  for (const name of new Set([...batch.outcomes, ...batch.feedback].map(({ model }) => model))) {
    const model = modelOf(turn.state, name);
    if (model === null || !isRunning(model.phase)) continue;
    const mine = <T extends { readonly model: string }>(all: readonly T[]) => all.filter((one) => one.model === name);
    const outcomes = mine(batch.outcomes);
    put(turn, name, absorbed(charged(model, outcomes), outcomes, mine(batch.feedback), turn.now));
    const figures = turn.state.figures?.[name];
    if (figures !== undefined) keepFigures(turn, name, tallied(figures, outcomes, model, turn.now));
    steer(turn, name, "gates");
  }
  return true;
}

/** The batch numbers with this one among them, or null when it was counted, or is so late that it may have been. */
export function marked(seen: AllSeen, { isolate, number }: Batch, now: number): AllSeen | null {
  const known = Object.hasOwn(seen, isolate) ? seen[isolate] : undefined;
  const next = markedOne(known ?? [0, 0, now], number, now);
  if (next === null) return null;
  const all = { ...seen, [isolate]: next };
  return Object.keys(all).length > ISOLATES ? withoutOldest(all) : all;
}

/** Without the isolate that was heard longest ago. */
function withoutOldest(seen: AllSeen): AllSeen {
  const all = Object.entries(seen);
  const oldest = Math.min(...all.map(([, [, , at]]) => at));
  const gone = all.findIndex(([, [, , at]]) => at === oldest);
  return Object.fromEntries(all.toSpliced(gone, 1));
}

function markedOne([high, before, at]: Seen, number: number, now: number): Seen | null {
  const ahead = number - high;
  if (ahead > 0) {
    const bits = ahead > 31 || high === 0 ? 0 : (before << ahead) | (1 << (ahead - 1));
    return [number, bits & 0x7fffffff, now];
  }
  const bit = ahead === 0 || ahead < -31 ? 0 : 1 << (-ahead - 1);
  return bit === 0 || (before & bit) !== 0 ? null : [high, before | bit, at];
}

/** A model with what its arms did, without what is no evidence: see `isEvidence`. */
export function absorbed<M extends Gated>(
  model: M,
  outcomes: readonly Outcome[],
  thumbs: readonly Feedback[],
  now: number,
): M {
  const { rollout } = model.spec;
  if (rollout === null || model.arms.length === 0) return model;
  const told = outcomes
    .filter((outcome) => isEvidence(outcome, model, rollout))
    .map((outcome) => asEvent(outcome, rollout.gates));
  // A thumb may come a day later: what it is about is as old as any outcome may be.
  const recent = thumbs.filter(({ at }) => at === undefined || at >= model.weightsSince);
  const rated = recent.map(({ version, client, bad }) => ({
    version,
    client,
    bad: ({ name }: GateSpec) => (name === "feedback" ? bad : null),
  }));
  const events = [...told, ...rated];
  let arms = model.arms;
  for (let at = 0; at < events.length; at += BLOCK) {
    const block = events.slice(at, at + BLOCK);
    arms = arms.map((arm) => observed(arm, block, model, rollout, now));
  }
  return { ...model, arms };
}

/** Probes feed a gate of their own, which nothing else does: they are never compared with what people asked. */
function asEvent(outcome: Outcome, gates: readonly GateSpec[]): Event {
  const isProbe = outcome.source === "probe";
  const bad = (gate: GateSpec) => {
    if ((gate.name === "probes") !== isProbe) return null;
    return isProbe ? isBadProbe(gates, outcome) : isBad(gate, outcome);
  };
  return { version: outcome.version, client: outcome.client, bad };
}

/**
 * Admitted under the weights that hold, and live. Only of a shadow, whose candidate answers nobody, its mirrored answers
 * count, for the candidate.
 */
function isEvidence(outcome: Outcome, { weightsSince }: Gated, { strategy, stable }: RolloutSpec): boolean {
  if (outcome.at < weightsSince) return false;
  if (outcome.source === "probe") return true;
  const isStable = outcome.version === stable;
  return outcome.source === (strategy === "shadow" && !isStable ? "shadow" : "live");
}

/** One candidate's gates after a block. A client counts once for each gate and arm while the gate's block is open. */
function observed(arm: Arm, block: readonly Event[], { step }: Gated, rollout: RolloutSpec, now: number): Arm {
  const gates = liveGates(rollout);
  const recent = now - arm.clientsSince < MEMORY_MS && arm.clients.length < MEMORY_CLIENTS;
  const clients = new Map(recent ? arm.clients : []);
  const sums = gates.map((): [number, number, number, number] => [0, 0, 0, 0]);
  for (const event of block) {
    if (event.version !== rollout.stable && event.version !== arm.version) continue;
    const side = event.version === arm.version ? 2 : 0;
    for (const [index, gate] of gates.entries())
      add(sums[index], event, gate, side, 1 << (2 * index + side / 2), clients);
  }
  let open = 0;
  const runs = gates.map((gate, index) => {
    const run = fed(arm, gate, sums[index] ?? [0, 0, 0, 0], rollout, step);
    if (run.pending[0] + run.pending[2] > 0) open |= 3 << (2 * index);
    return [gate.name, run] as const;
  });
  const left = [...clients].map(([client, bits]) => [client, bits & open] as const).filter(([, bits]) => bits !== 0);
  const clientsSince = recent && arm.clients.length > 0 ? arm.clientsSince : now;
  return { ...arm, runs: Object.fromEntries(runs), clients: left, clientsSince };
}

function add(
  sums: [number, number, number, number] | undefined,
  event: Event,
  gate: GateSpec,
  side: 0 | 2,
  bit: number,
  clients: Map<string, number>,
): void {
  const bad = event.bad(gate);
  const bits = clients.get(event.client) ?? 0;
  if (sums === undefined || bad === null || (bits & bit) !== 0) return;
  clients.set(event.client, bits | bit);
  sums[side]++;
  if (bad) sums[side === 0 ? 1 : 3]++;
}

function fed(arm: Arm, gate: GateSpec, [ms, ys, mc, yc]: Sums, rollout: RolloutSpec, step: number | null) {
  const run = runOf(arm, gate.name);
  return ms + mc === 0 ? run : observe(run, { ms, ys, mc, yc }, settingsOf(rollout, gate, step));
}
