import type { RolloutSpec } from "../../src/rollout/types.ts";
import { stageConfig } from "./stage.ts";

type Json = Record<string, unknown>;

/** A canary from version 1 to 2 over 10 and 100 %, with one gate on errors; `changes` replace whole fields. */
export function rolloutSpec(changes: Partial<RolloutSpec> = {}): RolloutSpec {
  return {
    ...{ strategy: "canary", stable: 1, candidates: [2], arms: [] },
    steps: [10, 100].map((weight) => ({ weight, hold_s: 60, approval: false, margins: {} })),
    gates: [{ name: "errors", margin: 0.02, slo: null, mode: "enforce" }],
    ...{ alpha: 0.01, beta: 0.05, min_fail: 10, min_bad: 3, min_pass: 50, absolute: 0.2, control: 1 },
    ...{ checks: [], watch_s: 3_600, warm_s: 0, on_fail: "rollback", no_control: "hold", grace_s: 300 },
    ...{ mirror: 0, attempt: 0 },
    ...changes,
  };
}

/** The models of a test's stage, with `chat` on its way by that rollout. */
export function modelsWith(rollout: RolloutSpec | null, changes: Json = {}): Json {
  const models = stageConfig().models as Record<string, Json>;
  return { ...models, chat: { ...models.chat, split: [[rollout?.stable ?? 1, 100]], rollout, ...changes } };
}
