import type { ModelVersion } from "../config.ts";
import type { GatewayEnv } from "../env.ts";
import type { Backend } from "./backend.ts";
import { NotServed } from "./not-served.ts";
import { type AiPort, WorkersAi } from "./workers-ai.ts";

/** The backend of a model version. */
export function backendOf(version: ModelVersion, env: GatewayEnv): Backend {
  // The binding's own types list known model ids; ours come from the catalogue.
  if (version.backend === "workers-ai") return new WorkersAi(env.AI as unknown as AiPort);
  return new NotServed(version.backend);
}
