import type { GatewayConfig } from "../config.ts";
import type { Rollouts } from "../config-rollout.ts";
import type { GatewayEnv } from "../env.ts";
import type { RampOrder } from "./ramp.ts";
import type { CheckReport, Order, Refusal } from "./state.ts";
import type { Batch, JournalEntry, LiveSplits, RampView, RolloutView, StageSpec } from "./types.ts";

export type { RampOrder } from "./ramp.ts";
export type { CheckReport, Order, Refusal } from "./state.ts";

/** By what the controller knows a spec without seeing it again. */
export type SpecName = Pick<StageSpec, "order" | "digest">;

/** A request that its caller may say something of: by whom, and by what it was served. */
export interface Served {
  readonly id: string;
  /** A short digest of the caller, whose word alone counts. */
  readonly caller: string;
  readonly model: string;
  readonly version: number;
  readonly client: string;
}

export interface StageView {
  readonly stage: string;
  readonly revision: number;
  readonly order: string | null;
  readonly release: string | null;
  readonly models: readonly RolloutView[];
}

export interface JournalPage {
  readonly entries: readonly JournalEntry[];
  /** The number after which the next page begins; null: there is none. */
  readonly next: number | null;
}

/** `unknown`: no such request of this caller's, or too long ago. */
export type FeedbackResult = "counted" | "repeated" | "unknown";

export type Done<T> = { readonly done: T } | { readonly refused: Refusal };

/** The stage's one controller, as isolates and admin endpoints call it. */
export interface RolloutPort {
  /** Tells what the asker's worker version declares; gives what is live for it. */
  splits(spec: StageSpec, stage: string, notify: Rollouts): Promise<LiveSplits>;
  /** What is live for an asker that has told its spec before. Null: it wants to be told by `splits` once more. */
  live(spec: SpecName): Promise<LiveSplits | null>;
  /** Takes an isolate's outcomes. Null: it doesn't know that spec, and wants to be told by `splits`. */
  report(spec: SpecName, batch: Batch, served: readonly Served[]): Promise<LiveSplits | null>;
  /** A caller's thumb on a request of its own. */
  feedback(id: string, caller: string, bad: boolean): Promise<FeedbackResult>;
  command(order: Order): Promise<Done<RolloutView>>;
  check(report: CheckReport): Promise<Done<RolloutView>>;
  withdraw(order: string, actor: string): Promise<Done<StageView>>;
  views(): Promise<StageView>;
  /** Compares two worker versions from now on, or no longer; undefined: only looks. */
  ramp(order?: RampOrder | null): Promise<RampView | null>;
  journal(model: string | null, after: number, limit: number): Promise<JournalPage>;
}

export function controllerOf(env: GatewayEnv, config: Pick<GatewayConfig, "stage">): RolloutPort {
  // The stub's own types wrap every result for RPC; what arrives is the plain value.
  return env.ROLLOUTS.getByName(config.stage) as unknown as RolloutPort;
}
