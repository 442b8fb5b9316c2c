// Measures gateways side by side: node run.ts '{"bundle": ..., "rivals": ..., "rounds": ...}' prints one JSON document.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { apart } from "./apart.ts";
import { load, type Target, type Took } from "./load.ts";
import { litellm, portkey } from "./rivals.ts";
import { memoryOf, processorOf, type Running, type RunningWorker } from "./workers.ts";

interface Asked {
  /** The bundle that is uploaded. */
  bundle: string;
  /** Folder that the rivals were installed in; null leaves them out. */
  rivals: string | null;
  rounds: number;
  /** Requests of one cell in one round. */
  requests: number;
  /** Requests to each before anything is measured, half as many streamed: until its code is compiled. */
  warm: number;
}

interface Contender {
  target: Target;
  running: Running | RunningWorker | null;
  /** Null where nothing was started for it. */
  coldMs: number | null;
}

interface Row {
  name: string;
  stream: boolean;
  connections: number;
  p50: number;
  p90: number;
  p99: number;
  firstP50: number;
  perSecond: number;
  /** Milliseconds of processor time a request, of the contender's own processes. */
  processor: number;
}

interface Cell {
  all: Took[];
  seconds: number;
  processor: number;
}

const KEY = "bench-key-0123456789";
/** Marks a Worker that is asked through Miniflare's entry Worker. */
const BY_ENTRY = " *";
const MESSAGES = [{ role: "user", content: "What is a sluice?" }];
const asked = JSON.parse(process.argv[2] ?? "{}") as Asked;

async function main(): Promise<void> {
  const stub = fork(fileURLToPath(new URL("./upstream.ts", import.meta.url)), { stdio: "inherit" });
  const port = await new Promise<number>((resolve) => stub.once("message", (told) => resolve(told as number)));
  const contenders: Contender[] = [];
  try {
    for (const start of starters(port)) contenders.push(...behindEntry(await start()));
    for (const contender of contenders) await warm(contender);
    const rows = await measure(contenders);
    const started = contenders.filter(({ coldMs }) => coldMs !== null);
    const memory = Object.fromEntries(
      started.map(({ target, running }) => [target.name, memoryOf(running?.pids() ?? [])]),
    );
    const cold = Object.fromEntries(started.map(({ target, coldMs }) => [target.name, coldMs]));
    process.stdout.write(`${JSON.stringify({ rows, memory, cold })}\n`);
  } finally {
    for (const running of new Set(contenders.map((one) => one.running))) await running?.stop();
    stub.kill();
  }
}

function starters(stub: number): (() => Promise<Contender>)[] {
  const upstream = `http://127.0.0.1:${stub}`;
  const path = "/v1/chat/completions";
  const chat = (model: string) => ({ model, messages: MESSAGES, max_tokens: 64 });
  const bearer = { authorization: `Bearer ${KEY}` };
  const direct: Target = { name: "direct", port: stub, path, headers: {}, body: chat("stub") };
  const list = [
    async () => ({ target: direct, running: null, coldMs: null }),
    () => begin("bare Worker, fetch", () => apart("bareFetch", upstream), {}, chat("stub")),
    () => begin("bare Worker, env.AI", () => apart("bareAi", upstream), {}, chat("stub")),
    () => begin("least gateway, fetch", () => apart("least", upstream, KEY), bearer, chat("stub")),
    () =>
      begin("ours, openai", () => apart("ours", asked.bundle, config(upstream), upstream, KEY), bearer, chat("openai")),
    () =>
      begin(
        "ours, workers-ai",
        () => apart("ours", asked.bundle, config(upstream), upstream, KEY),
        bearer,
        chat("workers-ai"),
      ),
  ];
  const folder = asked.rivals;
  if (folder !== null) {
    const headers = { "x-portkey-provider": "openai", "x-portkey-custom-host": `${upstream}/v1`, ...bearer };
    list.push(
      () => begin("Portkey", () => portkey(folder), headers, chat("stub")),
      () => begin("LiteLLM", () => litellm(folder, upstream, KEY), bearer, chat("chat")),
    );
  }
  return list;
}

/** A contender, and the same Worker by its other way in. */
function behindEntry(contender: Contender): Contender[] {
  const { target, running } = contender;
  if (running === null || !("entryPort" in running)) return [contender];
  const name = `${target.name}${BY_ENTRY}`;
  return [contender, { target: { ...target, name, port: running.entryPort }, running, coldMs: null }];
}

/** What a gateway does in its first thousands of requests is to compile itself. */
async function warm({ target }: Contender): Promise<void> {
  await ask(target, false, 32, asked.warm / slownessOf(target));
  await ask(target, true, 32, asked.warm / 2 / slownessOf(target));
  process.stderr.write(`${target.name} is warm\n`);
}

function slownessOf({ name }: Target): number {
  return name === "LiteLLM" ? 5 : 1;
}

/** Throws with the contender's name. */
function ask(target: Target, stream: boolean, connections: number, count: number): Promise<Took[]> {
  return load(target, stream, connections, Math.max(connections, Math.ceil(count))).catch((error: Error) => {
    throw new Error(`${target.name}, ${stream ? "streamed" : "in one go"}: ${error.message}`);
  });
}

/** Starts a contender; cold is from nothing to the end of its first answer. */
async function begin(
  name: string,
  start: () => Promise<Running>,
  headers: Record<string, string>,
  body: Record<string, unknown>,
): Promise<Contender> {
  let started = performance.now();
  const running = await start();
  if (running.startMs !== undefined) started = performance.now() - running.startMs;
  const target = { name, port: running.port, path: "/v1/chat/completions", headers, body };
  try {
    await load(target, false, 1, 1);
  } catch (error) {
    await running.stop();
    throw new Error(`${name}: ${(error as Error).message}`);
  }
  return { target, running, coldMs: performance.now() - started };
}

function config(upstream: string): object {
  const version = (spec: object) => ({ task: "chat", versions: { "1": spec }, split: [[1, 100]] });
  return {
    stage: "bench",
    release: "r-0123456789ab",
    worker: "bench",
    models: {
      openai: version({ backend: "openai", id: "stub", base_url: `${upstream}/v1` }),
      "workers-ai": version({ backend: "workers-ai", id: "@cf/zai-org/glm-4.7-flash" }),
    },
    gateway: null,
    cors: { origins: [], max_age: 600 },
    limits: { body_bytes: 1_048_576, requests: 10_000_000, period: 60 },
    cache: { enabled: true, ttl: 300 },
    auth: { required: true },
    log: { prompts: false },
  };
}

const CELLS = [
  { stream: false, connections: 1 },
  { stream: false, connections: 32 },
  { stream: true, connections: 1 },
  { stream: true, connections: 32 },
];

/** Every contender in every cell, in an order that moves on by one each round. */
async function measure(contenders: Contender[]): Promise<Row[]> {
  const took = new Map<string, Cell>();
  for (let round = 0; round < asked.rounds; round++) {
    for (const { stream, connections } of CELLS) {
      for (let at = 0; at < contenders.length; at++) {
        const { target, running } = contenders[(at + round) % contenders.length] as Contender;
        const count = (asked.requests * (connections > 1 ? 2 : 1)) / slownessOf(target);
        const pids = running?.pids() ?? [];
        const started = performance.now();
        const before = processorOf(pids);
        const some = await ask(target, stream, connections, count);
        const key = `${target.name}|${stream}|${connections}`;
        const cell = took.get(key) ?? { all: [], seconds: 0, processor: 0 };
        cell.all.push(...some);
        cell.seconds += (performance.now() - started) / 1000;
        cell.processor += processorOf(pids) - before;
        took.set(key, cell);
      }
    }
    process.stderr.write(`round ${round + 1} of ${asked.rounds}\n`);
  }
  return [...took].map(([key, cell]) => row(key, cell));
}

function row(key: string, { all, seconds, processor }: Cell): Row {
  const [name, stream, connections] = key.split("|") as [string, string, string];
  const totals = all.map(({ total }) => total).sort((left, right) => left - right);
  const firsts = all.map(({ first }) => first).sort((left, right) => left - right);
  const at = (sorted: number[], share: number) =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return {
    name,
    stream: stream === "true",
    connections: Number(connections),
    p50: at(totals, 0.5) as number,
    p90: at(totals, 0.9) as number,
    p99: at(totals, 0.99) as number,
    firstP50: at(firsts, 0.5) as number,
    perSecond: all.length / seconds,
    processor: processor / all.length,
  };
}

await main();
process.exit(0);
