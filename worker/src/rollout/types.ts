import type { Split } from "../config.ts";

/** How traffic comes from stable to candidate. */
export type Strategy = "canary" | "blue-green" | "ab" | "shadow";

/** A limit on a rate of bad events, by what makes one bad. */
export const GATES = [
  ...(["errors", "first_token", "latency", "speed", "json", "empty", "refusals", "guard", "feedback", "cost"] as const),
  ...(["probes", "golden"] as const),
] as const;
export type GateName = (typeof GATES)[number];

/** `slo`: seconds (first_token, latency), tokens a second (speed), US dollars a request (cost); null for the others. */
export interface GateSpec {
  readonly name: GateName;
  /** How much more of its requests than of stable's may be bad, in `[0, 1)`. */
  readonly margin: number;
  readonly slo: number | null;
  /** `observe` is judged and shown, and moves nothing. */
  readonly mode: "enforce" | "observe";
}

export interface Step {
  /** The candidate's share in whole percent, 1 to 100. */
  readonly weight: number;
  /** The shortest time at this weight, in seconds. */
  readonly hold_s: number;
  /** Whether a person must say yes before this step is left. */
  readonly approval: boolean;
  /** Margins that hold in this step alone. */
  readonly margins: Partial<Record<GateName, number>>;
}

/** What git declares of one rollout: `models.<name>.rollout` in `config.json`. Every default is decided in planning. */
export interface RolloutSpec {
  readonly strategy: Strategy;
  readonly stable: number;
  /** One version; of `ab`, one or more. */
  readonly candidates: readonly number[];
  /** Of `ab`: weights in the order of `candidates`; stable has the rest. Empty otherwise. */
  readonly arms: readonly number[];
  /** Of `canary`: at least one, weights rising. Of `blue-green`: one of weight 100. Empty otherwise. */
  readonly steps: readonly Step[];
  readonly gates: readonly GateSpec[];
  /** The chance of a false rollback, of all gates together. */
  readonly alpha: number;
  /** The chance of a false pass, in each step. */
  readonly beta: number;
  readonly min_fail: number;
  readonly min_bad: number;
  readonly min_pass: number;
  /** The rate of bad events over which an arm is called bad by itself: the platform's alarm. */
  readonly absolute: number;
  /** The share of `stable`, in whole percent, that stays as control at weight 100 and during the watch. 0 to 50. */
  readonly control: number;
  /** What must be reported on the candidate at 0 % before the first step: `golden`. */
  readonly checks: readonly "golden"[];
  /** Seconds after promotion in which a failing gate still rolls back. */
  readonly watch_s: number;
  /** Of `blue-green`: seconds for which the old side is called now and then, so that a flip back finds it warm. */
  readonly warm_s: number;
  readonly on_fail: "rollback" | "hold";
  /** What a breach of the absolute limit does when there is no control: only hold, or roll back after `grace_s`. */
  readonly no_control: "hold" | "rollback";
  readonly grace_s: number;
  /** Of `shadow`: the share of requests that is mirrored, in whole percent. 0 otherwise. */
  readonly mirror: number;
  /** A golden prompt is sent to stable and to each candidate every so many seconds, for at most so many US dollars an hour. */
  readonly probes?: { readonly every_s: number; readonly usd: number } | null | undefined;
  /** Raised in git to try once more what has failed. */
  readonly attempt: number;
}

/** What git declares for one model: its plain split, and the rollout if one is declared. */
export interface ModelSpec {
  readonly split: Split;
  readonly rollout: RolloutSpec | null;
}

/** What one Worker version carries. `order` grows with each upload; `digest` is of `models`. */
export interface StageSpec {
  /** The upload's time (`version_metadata.timestamp`, ISO 8601 UTC), a LF, and the worker version's id. */
  readonly order: string;
  readonly digest: string;
  readonly release: string;
  readonly models: Readonly<Record<string, ModelSpec>>;
}

/**
 * One finished request that a live arm served, as the isolate saw it. Nothing of what was said. Requests of pinned
 * versions, answers from a cache, and clients who left are no outcomes.
 */
export interface Outcome {
  readonly model: string;
  readonly version: number;
  /** A short digest of the client; one client counts once in a block. */
  readonly client: string;
  /** When the request was admitted, in milliseconds since the epoch. */
  readonly at: number;
  /** The part of it that is told: `late` when it is still running as its age passes the SLO of `latency`; then `rest`. */
  readonly part: "whole" | "late" | "rest";
  readonly failed: boolean;
  /** Null: never came, or the answer was not streamed. */
  readonly first_token_ms: number | null;
  readonly total_ms: number;
  readonly tokens: number | null;
  readonly cost_usd: number | null;
  /** True: bad. Null: does not apply (no JSON and no tool was asked for). */
  readonly json: boolean | null;
  readonly empty: boolean;
  readonly refusal: boolean;
  readonly guard: boolean;
  /** `shadow`: the answer was compared, and not given to anyone. `probe`: nobody asked. */
  readonly source: "live" | "shadow" | "probe";
}

/** What an isolate tells the controller at once, at most every half second. A batch that comes twice counts once. */
export interface Batch {
  readonly isolate: string;
  /** 1, 2, 3 in each isolate. */
  readonly number: number;
  readonly outcomes: readonly Outcome[];
  /** A thumb, by the version that served the request. */
  readonly feedback: readonly {
    readonly model: string;
    readonly version: number;
    readonly client: string;
    readonly bad: boolean;
    /** When that request was told of, in milliseconds since the epoch. */
    readonly at?: number;
  }[];
}

/** What the controller answers, to a batch too: the live split. `revision` never goes back. */
export interface LiveSplits {
  readonly revision: number;
  readonly weights: Readonly<Record<string, Split>>;
  /** Of `shadow` rollouts that run: which version gets the mirrored share, in percent. */
  readonly mirrors: Readonly<Record<string, { readonly version: number; readonly share: number }>>;
  /** Two worker versions are compared: every request is told of, whatever its model. An older controller says nothing. */
  readonly ramp?: boolean;
}

export type Phase =
  /** No rollout is declared: the split is git's. */
  | "split"
  /** Waits for the pre-checks, the candidate at 0 %. */
  | "checking"
  /** At a step, until its hold is over and every gate has passed. */
  | "stepping"
  /** At the end of a step that a person must leave. Gates still act. */
  | "awaiting"
  /** A person has stopped the clock. Gates still act. */
  | "paused"
  /** The candidate has been promoted and is watched. */
  | "watching"
  /** An `ab` or `shadow` rollout, which ends only in git or by a person. */
  | "measuring"
  /** The candidate has it all, for good. */
  | "promoted"
  /** Ended before promotion; stable has it all. The spec is held until git changes it. */
  | "aborted"
  /** Ended by a gate, or after promotion; stable has it all. The spec is held until git changes it. */
  | "rolled-back";

export type Verdict = "pass" | "fail" | "inconclusive";

/** Why a gate says neither pass nor fail. */
export type HoldReason = "platform" | "stable-degraded" | "suspect" | "no-control" | "inconclusive";

export interface GateView {
  readonly name: GateName;
  readonly mode: "enforce" | "observe";
  readonly margin: number;
  readonly slo: number | null;
  readonly verdict: Verdict;
  readonly reason: HoldReason | null;
  /** Requests and bad ones of each arm since this rollout began. */
  readonly stable: { readonly requests: number; readonly bad: number };
  readonly candidate: { readonly requests: number; readonly bad: number };
  /** An interval for (candidate - stable) that is valid at any time, or null before both arms have a request. */
  readonly difference: readonly [low: number, high: number] | null;
  /** Evidence for a fail as a share of what it takes, from 0 to 1; the same for a pass. */
  readonly failing: number;
  readonly passing: number;
}

/** What the requests of a rollout took and cost since it began, by version: for people, no gate reads it. */
export interface FiguresView {
  /** When it began, in milliseconds since the epoch. */
  readonly since: number;
  /** How much time each entry of `cost` is. */
  readonly slot_ms: number;
  /** Bucket `n` of a histogram holds what took from 2^(n / per_doubling) milliseconds on, to where the next one begins. */
  readonly per_doubling: number;
  readonly versions: readonly {
    readonly version: number;
    readonly requests: number;
    /** Requests by bucket, of those that did not fail. `first_token`: of those that were streamed. */
    readonly first_token: readonly number[];
    readonly total: readonly number[];
    /** By slot: requests whose cost is known, and what they cost in US dollars. */
    readonly cost: readonly (readonly [requests: number, usd: number])[];
  }[];
}

/** One model as `rollout show`, the dashboard and `report` read it. Times in milliseconds since the epoch. */
export interface RolloutView {
  readonly model: string;
  readonly phase: Phase;
  /** The phase to which `resume` returns. */
  readonly paused_from: Phase | null;
  readonly strategy: Strategy | null;
  readonly stable: number;
  readonly candidates: readonly number[];
  readonly weights: Split;
  readonly step: number | null;
  readonly steps: readonly Step[];
  readonly since: number;
  /** When the hold or the watch is over; null when no clock runs. */
  readonly until: number | null;
  /** What it waits for, as a sentence; the same as on the screen and in the log. */
  readonly waiting: string;
  readonly platform: boolean;
  readonly gates: readonly GateView[];
  /** Of `ab`: one row for each arm and gate. */
  readonly readout: readonly { readonly version: number; readonly gates: readonly GateView[] }[];
  /** Of the last rollout; null before one began. */
  readonly figures: FiguresView | null;
  /** Spec digests of this model that failed, and are not tried again. */
  readonly held: boolean;
  readonly spec_digest: string;
  readonly order: string;
  readonly revision: number;
  readonly release: string;
}

/** The gates of two worker versions, one of which is to take the other's place. Times in milliseconds since the epoch. */
export interface RampView {
  readonly old: string;
  readonly new: string;
  /** When the ramp began, and when the present shares did. */
  readonly since: number;
  readonly step: number;
  readonly verdict: Verdict;
  /** Of a fail, the gate with the most evidence; else one that has not passed. */
  readonly gate: GateName | null;
  readonly reason: HoldReason | null;
  /** `stable` is the old version, `candidate` the new one. */
  readonly gates: readonly GateView[];
}

export type Command = "pause" | "resume" | "promote" | "abort" | "rollback";

/** One transition, or one thing worth knowing. Appended, never changed. */
export interface JournalEntry {
  /** 1, 2, 3 in each stage. */
  readonly number: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly model: string;
  readonly kind:
    | "spec"
    | "start"
    | "step"
    | "approval"
    | "promoted"
    | "done"
    | "paused"
    | "resumed"
    | "aborted"
    | "rolled-back"
    | "platform"
    | "check"
    | "held"
    | "refused";
  /** The one sentence for people: the same in journal, log, screen and webhook. */
  readonly sentence: string;
  readonly phase: Phase;
  readonly weights: Split;
  readonly release: string;
  /** Who or what did it: `gate:errors`, `person:<name>`, `clock`, `spec`. */
  readonly cause: string;
  /** The gates' numbers at that moment, of a verdict. */
  readonly gates: readonly GateView[];
}
