// Measures the router: node run.ts < order.json prints one JSON document.
import { fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { fileURLToPath } from "node:url";
import { Miniflare } from "miniflare";
import { readLinear } from "../../worker/src/edge/onnx.ts";
import { DURABLE_OBJECTS } from "../../worker/test/durable-objects.ts";

interface Asked {
  bundle: string;
  onnx: string;
  sha256: string;
  prompts: string[];
  rounds: number;
}

const KEY = "bench-key-0123456789";
const asked = JSON.parse(readFileSync(0, "utf8")) as Asked;
const file = new Uint8Array(readFileSync(asked.onnx));
const key = `models/router/1/${asked.sha256}/model.onnx`;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

async function main(): Promise<void> {
  const stub = fork(fileURLToPath(new URL("../gateway/upstream.ts", import.meta.url)), { stdio: "inherit" });
  const port = await new Promise<number>((resolve) => stub.once("message", (told) => resolve(told as number)));
  const runtime = new Miniflare(options(`http://127.0.0.1:${port}`));
  try {
    const gateway = Number((await runtime.ready).port);
    await (await runtime.getR2Bucket("MODELS")).put(key, file);
    const found = { score_us: inNode(), workerd_us: await inWorkerd(gateway), ...(await chats(gateway)) };
    process.stdout.write(`${JSON.stringify(found)}\n`);
  } finally {
    await runtime.dispose();
    stub.kill();
  }
}

/** Each prompt as often as makes a time that can be told, then the middle of all. */
function inNode(): number {
  const linear = readLinear(file);
  const each = 20;
  const took = asked.prompts.map((prompt) => {
    const started = performance.now();
    for (let time = 0; time < each; time++) linear.probabilities(prompt);
    return ((performance.now() - started) * 1000) / each;
  });
  return median(took);
}

/** All prompts in one request, by the number of prompts: more than the score alone. */
async function inWorkerd(port: number): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < 5; round++) {
    times.push((await post(port, "/v1/classify", { model: "router", input: asked.prompts })).ms);
  }
  return (median(times) * 1000) / asked.prompts.length;
}

/** The same prompt with a route and without, one after the other, the first of the two in turn. */
async function chats(port: number): Promise<{ with_ms: number; without_ms: number; added_ms: number }> {
  const times: Record<string, number[]> = { hybrid: [], plain: [] };
  const added: number[] = [];
  for (let round = -1; round < asked.rounds; round++) {
    for (const [at, content] of asked.prompts.entries()) {
      const took: Record<string, number> = {};
      for (const model of at % 2 === 0 ? ["hybrid", "plain"] : ["plain", "hybrid"]) {
        const { ms, route } = await post(port, "/v1/chat/completions", {
          model,
          max_tokens: 16,
          messages: [{ role: "user", content }],
        });
        if ((route !== undefined) !== (model === "hybrid") || route?.includes("unavailable")) {
          throw new Error(`${model}: route ${route}`);
        }
        took[model] = ms;
      }
      if (round < 0) continue;
      for (const [model, ms] of Object.entries(took)) times[model]?.push(ms);
      added.push((took.hybrid as number) - (took.plain as number));
    }
    process.stderr.write(`round ${round + 1} of ${asked.rounds}\n`);
  }
  const { hybrid = [], plain = [] } = times;
  return { with_ms: median(hybrid), without_ms: median(plain), added_ms: median(added) };
}

function post(port: number, path: string, body: object): Promise<{ ms: number; route: string | undefined }> {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body);
    const headers = {
      authorization: `Bearer ${KEY}`,
      "content-length": Buffer.byteLength(text),
      "x-sluiceway-cache": "bypass",
    };
    const started = performance.now();
    const sent = request({ port, path, method: "POST", agent, headers }, (response) => {
      response.resume();
      response.on("end", () => {
        if (response.statusCode !== 200) reject(new Error(`${path}: status ${response.statusCode}`));
        const route = response.headers["x-sluiceway-route"] as string | undefined;
        resolve({ ms: performance.now() - started, route });
      });
    });
    sent.on("error", reject);
    sent.end(text);
  });
}

function median(numbers: number[]): number {
  return numbers.toSorted((left, right) => left - right)[Math.floor(numbers.length / 2)] as number;
}

function options(upstream: string): ConstructorParameters<typeof Miniflare>[0] {
  const model = (task: string, spec: object, more = {}) => ({
    task,
    versions: { "1": spec },
    split: [[1, 100]],
    ...more,
  });
  const chat = { backend: "openai", id: "stub", base_url: `${upstream}/v1` };
  const artifact = { files: [{ name: "model.onnx", key, sha256: asked.sha256, bytes: file.length }] };
  const config = {
    stage: "bench",
    release: "r-0123456789ab",
    worker: "bench",
    models: {
      plain: model("chat", chat),
      hybrid: model("chat", chat, { route: { by: "router", simple: "plain", threshold: 0.5 } }),
      router: model("classify", { backend: "onnx", artifact }),
    },
    gateway: null,
    cors: { origins: [], max_age: 600 },
    limits: { body_bytes: 1_048_576, requests: 10_000_000, period: 60 },
    cache: { enabled: false, ttl: 0 },
    auth: { required: true },
    log: { prompts: false },
  };
  return {
    compatibilityDate: "2026-07-01",
    compatibilityFlags: ["enable_request_signal"],
    cf: false,
    handleRuntimeStdio: (stdout, stderr) => {
      stdout.resume();
      stderr.resume();
    },
    modules: [
      { type: "ESModule", path: "index.js", contents: readFileSync(asked.bundle, "utf8") },
      { type: "Text", path: "config.json", contents: JSON.stringify(config) },
    ],
    kvNamespaces: ["CACHE"],
    r2Buckets: ["MODELS"],
    durableObjects: DURABLE_OBJECTS,
    ratelimits: { RATE_LIMIT: { namespace_id: "1001", simple: { limit: 10_000_000, period: 60 } } },
    bindings: { API_KEY: KEY, VERSION: { id: "bench", tag: "", timestamp: "" } },
    analyticsEngineDatasets: { METRICS: { dataset: "bench" } },
  };
}

await main();
process.exit(0);
