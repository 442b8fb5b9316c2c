import type { KeyRing } from "./access/key-ring.ts";
import type { Ledger } from "./budget/ledger.ts";
import type { Conversation } from "./conversation/conversation.ts";
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
  /** One object per stage, which knows the keys that `sluiceway keys` made. */
  KEYS: DurableObjectNamespace<KeyRing>;
  /** One object per key, per team, and one for the stage: what each has spent. */
  LEDGER: DurableObjectNamespace<Ledger>;
  /** One object per conversation. */
  CONVERSATIONS: DurableObjectNamespace<Conversation>;
  /** The Worker in which ONNX encoders run; absent on a stage without one. */
  INFERENCE?: Fetcher;
  /** Absent on a stage without a queue. */
  EVENTS?: Queue;
  /** Absent only on a stage with `auth.required: false`. */
  API_KEY?: string;
  /** Opens the admin endpoints; without it they are closed. */
  ADMIN_KEY?: string;
  /** Where unhandled exceptions go, on a stage with `telemetry.sentry`. */
  SENTRY_DSN?: string;
}
