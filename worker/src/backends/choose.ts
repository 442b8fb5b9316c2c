import type { ModelVersion } from "../config.ts";
import type { GatewayEnv } from "../env.ts";
import type { Backend } from "./backend.ts";
import { NotServed } from "./not-served.ts";
import { Onnx } from "./onnx.ts";
import { type GatewayPort, OpenAi } from "./openai.ts";
import { type AiPort, WorkersAi } from "./workers-ai.ts";

/** The backend of a model version. */
export function backendOf(version: ModelVersion, env: GatewayEnv): Backend {
  // The binding's own types list known model ids; ours come from the catalogue.
  if (version.backend === "workers-ai") return new WorkersAi(env.AI as unknown as AiPort);
  if (version.backend === "openai") {
    return new OpenAi({
      fetch: (url, init) => fetch(url, init),
      gateway: (id) => env.AI.gateway(id) as unknown as GatewayPort,
      secret: (name) => secretOf(env, name),
    });
  }
  return env.INFERENCE === undefined ? new NotServed(version.backend) : new Onnx(env.INFERENCE);
}

/** A secret of the stage's, whose name comes from the catalogue. */
function secretOf(env: GatewayEnv, name: string): string | undefined {
  const value = (env as unknown as Record<string, unknown>)[name];
  return typeof value === "string" ? value : undefined;
}
