import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import { childrenOf, type Running } from "./workers.ts";

/**
 * Portkey's gateway as its package starts it, on Node. It has no keys or limits of its own: those are its hosted product's.
 * `package.json` holds back the HTTP server beneath it: with a newer one it answers every stream with a 500.
 */
export async function portkey(folder: string): Promise<Running> {
  const port = await freePort();
  const script = join(folder, "node_modules/@portkey-ai/gateway/build/start-server.js");
  return run(process.execPath, [script, `--port=${port}`, "--headless"], port, "/");
}

/** LiteLLM's proxy with one model, a master key, a limit on the model, and no database: what it can check without one. */
export async function litellm(folder: string, upstream: string, key: string): Promise<Running> {
  const port = await freePort();
  const config = join(folder, "litellm.json");
  writeFileSync(
    config,
    JSON.stringify({
      model_list: [
        {
          model_name: "chat",
          litellm_params: { model: "openai/stub", api_base: `${upstream}/v1`, api_key: "none", rpm: 10_000_000 },
        },
      ],
      router_settings: { optional_pre_call_checks: ["enforce_model_rate_limits"] },
      general_settings: { master_key: key },
      litellm_settings: { telemetry: false },
    }),
  );
  const command = join(folder, "venv/bin/litellm");
  return run(command, ["--config", config, "--host", "127.0.0.1", "--port", String(port)], port, "/health/liveliness");
}

async function run(command: string, args: string[], port: number, path: string): Promise<Running> {
  // A price list is fetched at the start unless it is told that the one it came with will do.
  const env = { ...process.env, LITELLM_LOCAL_MODEL_COST_MAP: "True", LITELLM_LOG: "ERROR", NODE_ENV: "production" };
  const child = spawn(command, args, { env, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    said = (said + chunk.toString("utf8")).slice(-4_000);
  });
  const deadline = performance.now() + 120_000;
  while (!(await answers(`http://127.0.0.1:${port}${path}`))) {
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}: ${said}`);
    if (performance.now() > deadline) throw new Error(`${command} did not answer in 120 s: ${said}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const pid = child.pid as number;
  const stop = async () => {
    child.kill("SIGKILL");
  };
  return { port, pids: () => [pid, ...childrenOf(pid)], stop };
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
