import { readdirSync, readFileSync } from "node:fs";
import { Miniflare } from "miniflare";
import { DURABLE_OBJECTS } from "../../worker/test/durable-objects.ts";

/** A Worker under measurement: where it answers, and the processes that it lives in. */
export interface Running {
  port: number;
  /** Milliseconds that it took to start, where the process around it is no part of that. */
  startMs?: number;
  pids: () => number[];
  stop: () => Promise<void>;
}

/** In workerd, by Miniflare. */
export interface RunningWorker extends Running {
  /** Where it answers behind Miniflare's entry Worker, which parses each request once more and hands it on. */
  entryPort: number;
}

/** As on the local stage: the Worker itself, as on Cloudflare, with none of Miniflare's before it. */
const OWN_SOCKET = [{ host: "127.0.0.1", port: 0 }];

const PLATFORM = {
  compatibilityDate: "2026-07-01",
  compatibilityFlags: ["enable_request_signal"],
  unsafeDirectSockets: OWN_SOCKET,
  cf: false as const,
  handleRuntimeStdio: (stdout: NodeJS.ReadableStream, stderr: NodeJS.ReadableStream) => {
    stdout.resume();
    stderr.resume();
  },
};

/** A Worker that passes the body on and the answer back, and does nothing else: what any gateway is measured against. */
export function bareFetch(upstream: string): Promise<RunningWorker> {
  const script = `export default {
    fetch: (request) => fetch(${JSON.stringify(`${upstream}/v1/chat/completions`)}, {
      method: "POST", body: request.body, headers: { "content-type": "application/json" },
    }),
  }`;
  return start({ ...PLATFORM, modules: true, script });
}

/** What any gateway in a Worker must do, and nothing more: how near a bare Worker one can come. */
export function least(upstream: string, key: string): Promise<RunningWorker> {
  const code = readFileSync(new URL("./least-worker.js", import.meta.url), "utf8");
  return start({
    ...PLATFORM,
    modules: [{ type: "ESModule" as const, path: "least-worker.js", contents: code }],
    bindings: { UPSTREAM: upstream, API_KEY: key },
  });
}

/** The same by the AI binding, whose calls go through the proxy that the local stage uses too. */
export function bareAi(upstream: string): Promise<RunningWorker> {
  const script = `export default {
    async fetch(request, env) {
      return env.AI.run("@cf/zai-org/glm-4.7-flash", await request.json(), { returnRawResponse: true });
    },
  }`;
  return start({ ...PLATFORM, modules: true, script, ai: aiOf(upstream) });
}

/**
 * A stand-in for the platform's rate limiter, which keeps its counters on the Worker's own machine. Miniflare's own is a
 * call to a Durable Object for each request, which Cloudflare's is not and a gateway can't make faster.
 */
const LIMITER = `export default (env) => {
  const counts = new Map();
  let window = 0;
  return {
    async limit({ key }) {
      const now = Math.floor(Date.now() / (env.period * 1000));
      if (now !== window) counts.clear();
      window = now;
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      return { success: count <= env.limit };
    },
  };
};`;

/** Our gateway as a stage runs it: the bundle that is uploaded, its config beside it, keys and limits on. */
export function ours(bundle: string, config: object, upstream: string, key: string): Promise<RunningWorker> {
  const { cf, handleRuntimeStdio, ...platform } = PLATFORM;
  const gateway = {
    ...platform,
    name: "gateway",
    modules: [
      { type: "ESModule" as const, path: "index.js", contents: readFileSync(bundle, "utf8") },
      { type: "Text" as const, path: "config.json", contents: JSON.stringify(config) },
    ],
    ai: aiOf(upstream),
    kvNamespaces: ["CACHE"],
    r2Buckets: ["MODELS"],
    durableObjects: DURABLE_OBJECTS,
    wrappedBindings: { RATE_LIMIT: { scriptName: "limiter", bindings: { limit: 10_000_000, period: 60 } } },
    bindings: { API_KEY: key, VERSION: { id: "bench", tag: "", timestamp: "" } },
    analyticsEngineDatasets: { METRICS: { dataset: "bench" } },
  };
  return start({ cf, handleRuntimeStdio, workers: [gateway, { name: "limiter", modules: true, script: LIMITER }] });
}

const aiOf = (upstream: string) => ({ binding: "AI", remoteProxyConnectionString: new URL(upstream) as never });

async function start(options: ConstructorParameters<typeof Miniflare>[0]): Promise<RunningWorker> {
  const before = new Set(childrenOf(process.pid));
  const runtime = new Miniflare(options);
  const { port: entryPort } = await runtime.ready;
  const { port } = await runtime.unsafeGetDirectURL();
  const pids = childrenOf(process.pid).filter((pid) => !before.has(pid));
  return { port: Number(port), entryPort: Number(entryPort), pids: () => pids, stop: () => runtime.dispose() };
}

/** Processes whose parent is `pid`. Linux only, as the measurement is. */
export function childrenOf(pid: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return (
          Number(
            readFileSync(`/proc/${name}/stat`, "utf8")
              .replace(/^.*\) /s, "")
              .split(" ")[1],
          ) === pid
        );
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** Memory of these processes that is theirs, in MiB. */
export function memoryOf(pids: number[]): number {
  const kib = pids.map((pid) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0));
  return kib.reduce((sum, one) => sum + one, 0) / 1024;
}

/** Processor time that these processes have used, in milliseconds: what a busy machine stretches least. */
export function processorOf(pids: number[]): number {
  const ticks = pids.map((pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return Number(fields[11]) + Number(fields[12]);
  });
  // Linux counts in hundredths of a second.
  return ticks.reduce((sum, one) => sum + one, 0) * 10;
}
