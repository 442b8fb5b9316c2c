import type { RolloutController } from "./rollout/controller.ts";

/** What the platform binds to the Worker. The `Env` that is rendered for each stage is assignable to it. */
export interface GatewayEnv {
  AI: Ai;
  /** Exact cache of answers. Losing it costs money, never an answer. */
  CACHE: KVNamespace;
  /** Artifacts of `onnx` model versions. */
  MODELS: R2Bucket;
  RATE_LIMIT: RateLimit;
  METRICS: AnalyticsEngineDataset;
  VERSION: WorkerVersionMetadata;
  /** One object per stage, which owns the live split. */
  ROLLOUTS: DurableObjectNamespace<RolloutController>;
  /** Absent on a stage without a queue. */
  EVENTS?: Queue;
  /** Absent only on a stage with `auth.required: false`. */
  API_KEY?: string;
}
