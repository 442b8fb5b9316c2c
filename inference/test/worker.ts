/** The bundled Worker in workerd, with its wasm module and a bucket. */

import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { Miniflare } from "miniflare";

export const WASM = "ort-wasm-simd-threaded.wasm";
const root = new URL("../../", import.meta.url);

export async function bundled(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [new URL("inference/src/index.ts", root).pathname],
    bundle: true,
    format: "esm",
    platform: "neutral",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    mainFields: ["browser", "module", "main"],
    external: ["*.wasm"],
    minify: true,
    write: false,
    logLevel: "error",
  });
  return (outputFiles[0] as { text: string }).text;
}

/** `log` gets each line that the Worker writes to its console. */
export async function start(code: string, log?: (line: string) => void): Promise<Miniflare> {
  const wasm = readFileSync(new URL(`node_modules/onnxruntime-web/dist/${WASM}`, root));
  const runtime = new Miniflare({
    modules: [
      { type: "ESModule", path: "index.js", contents: code },
      { type: "CompiledWasm", path: WASM, contents: wasm },
    ],
    compatibilityDate: "2026-07-01",
    r2Buckets: ["MODELS"],
    host: "127.0.0.1",
    port: 0,
    cf: false,
    ...(log && { handleStructuredLogs: ({ message }: { message: string }) => void log(message) }),
    telemetry: { enabled: false },
  } as ConstructorParameters<typeof Miniflare>[0]);
  await runtime.ready;
  return runtime;
}
