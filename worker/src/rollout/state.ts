import type { Split } from "../config.ts";
import type { GateState } from "../gates/gate.ts";
import type { Figures } from "./figures.ts";
import type { Probing } from "./probing.ts";
import type { Ramp, RampOrder } from "./ramp.ts";
import type { Batch, Command, GateName, JournalEntry, ModelSpec, Phase, StageSpec, Verdict } from "./types.ts";

/** What is left of a hold or a watch, in milliseconds; `since` is null while it stands still. */
export interface Clock {
  readonly left: number;
  readonly since: number | null;
}

/** One candidate and its gates against stable. */
export interface Arm {
  readonly version: number;
  readonly runs: Readonly<Partial<Record<GateName, GateState>>>;
  /** Who has been counted in a block that is not settled yet, and in which gates, as bits: see `hygiene.ts`. */
  readonly clients: readonly (readonly [client: string, bits: number])[];
  readonly clientsSince: number;
}

/** What was reported of the golden prompts. */
export interface Check {
  readonly verdict: Verdict;
  readonly summary: string;
}

/** How a rollout ended, by the digest of its spec: what failed is not tried again, what came back is not repeated. */
export interface Ended {
  readonly digest: string;
  readonly phase: "promoted" | "aborted" | "rolled-back";
  readonly why: string;
}

export interface ModelState {
  readonly spec: ModelSpec;
  /** Of `spec`. */
  readonly digest: string;
  readonly phase: Phase;
  readonly pausedFrom: Phase | null;
  /** The gate that paused it, with `on_fail: hold`. */
  readonly stoppedBy: GateName | null;
  /** Index in `stepsOf(spec.rollout)`. */
  readonly step: number | null;
  readonly weights: Split;
  /** Since when these weights hold: what was admitted before is no evidence. */
  readonly weightsSince: number;
  /** Since when it is in this phase and step. */
  readonly since: number;
  readonly clock: Clock | null;
  /** Of `blue-green`: until when a hundredth of requests is mirrored to the old side, so that a flip back finds it warm. */
  readonly warmUntil: number | null;
  /** Since when both arms are bad. */
  readonly platform: number | null;
  /** Since when no gate says so any more, while that is not yet taken for its end. */
  readonly calm?: number | null;
  /** Since when the candidate is over the absolute limit with nothing to compare it with. */
  readonly uncontrolled: number | null;
  readonly golden: Check | null;
  readonly arms: readonly Arm[];
  /** Of the stage, when this model last moved. */
  readonly revision: number;
  readonly held: boolean;
  /** Left out: its rollout sends no probes now. */
  readonly probing?: Probing | null;
  /** Commands that were refused since this model last moved; left out: none. */
  readonly refused?: number;
  /** Why it ended; empty before. */
  readonly why: string;
}

/** Batches of one isolate that were counted: the highest number, and the 31 before it as bits; when it was last heard. */
export type Seen = readonly [high: number, before: number, at: number];

/** All that the controller knows. Plain JSON; times in milliseconds since the epoch. */
export interface StageState {
  readonly revision: number;
  readonly spec: StageSpec | null;
  /** The newest others that were not withdrawn, newest first. */
  readonly known: readonly StageSpec[];
  readonly withdrawn: readonly string[];
  readonly models: Readonly<Record<string, ModelState>>;
  /** By isolate. */
  readonly seen: Readonly<Record<string, Seen>>;
  readonly ended: Readonly<Record<string, readonly Ended[]>>;
  /** Of each model's last rollout. Left out: none has begun since there are any. */
  readonly figures?: Readonly<Record<string, Figures>>;
  /** Two worker versions that are compared. */
  readonly ramp?: Ramp | null;
  readonly journalNumber: number;
  readonly alarm: number | null;
}

/** What a person, or a tool in its name, asks of one model's rollout. */
export interface Order {
  readonly model: string;
  readonly command: Command;
  readonly actor: string;
  readonly reason: string | null;
  /** The revision that the person has seen; null: whatever it is. Refused when the model has moved since. */
  readonly expect: number | null;
}

export interface CheckReport {
  readonly model: string;
  readonly check: "golden";
  readonly verdict: Verdict;
  readonly summary: string;
  readonly actor: string;
  /** The versions that were compared; null where whoever reports doesn't say. */
  readonly stable: number | null;
  readonly candidate: number | null;
}

export type CommandEvent = { readonly kind: "command" } & Order;
export type CheckEvent = { readonly kind: "check" } & CheckReport;

export type Event =
  | { readonly kind: "spec"; readonly spec: StageSpec }
  /** `worker`: id of the worker version whose isolate tells it. */
  | { readonly kind: "batch"; readonly batch: Batch; readonly worker?: string }
  | { readonly kind: "ramp"; readonly order: RampOrder | null }
  | { readonly kind: "clock" }
  | CommandEvent
  | CheckEvent
  | { readonly kind: "withdraw"; readonly order: string; readonly actor: string };

/** Why something was not done: a stable code, a sentence, and what to do. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

export type Action =
  /** Ask each version something that nobody asked. */
  | { readonly kind: "probe"; readonly model: string; readonly versions: readonly number[] }
  | { readonly kind: "journal"; readonly entry: JournalEntry }
  /** When to send `clock`; null: not before something else happens. Told when it differs from what was told last. */
  | { readonly kind: "alarm"; readonly at: number | null }
  | ({ readonly kind: "refuse" } & Refusal);

export function newStage(): StageState {
  return {
    revision: 0,
    spec: null,
    known: [],
    withdrawn: [],
    models: {},
    seen: {},
    ended: {},
    journalNumber: 0,
    alarm: null,
  };
}

export function modelOf(state: StageState, name: string): ModelState | null {
  return Object.hasOwn(state.models, name) ? (state.models[name] ?? null) : null;
}
