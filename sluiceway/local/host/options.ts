/** The world -> miniflare's options. The only module that knows their shape, so that a new major of it is one file. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import type {
  MiniflareOptions,
  Request as MiniflareRequest,
  Response as MiniflareResponse,
  WorkerOptions,
} from "miniflare";
import { ANALYTICS, type Bound, bind, ROUTER, workerName } from "./bindings.ts";
import type { S3Credentials } from "./config.ts";
import { type DurableClass, durableClasses } from "./durable.ts";
import { SECRET_BINDING, versionBinding } from "./inside/table.ts";
import { COMPATIBILITY_DATE, SCRIPTS } from "./scripts.ts";
import { deployed, type Module, type Version, type World } from "./world.ts";

export { ROUTER } from "./bindings.ts";
export const ADMIN = "sluiceway:admin";
const TAIL = "sluiceway:tail";

type Answer = (request: MiniflareRequest) => Promise<MiniflareResponse> | MiniflareResponse;

export interface Surroundings {
  readonly data: string;
  readonly aiUrl: string;
  readonly s3: S3Credentials;
  /** By which the scripts inside know this process. */
  readonly secret: string;
  /** Answers of this process to the scripts inside. */
  readonly table: Answer;
  readonly sink: Answer;
  readonly output: (stdout: Readable, stderr: Readable) => void;
  readonly restarted: () => Promise<void>;
}

/**
 * Changes when, and only when, the runtime must be restarted to follow the world: not for percentages, routes, domains,
 * limits or crons, which the router and the host take live.
 */
export function fingerprint(world: World): string {
  const classes = durableClasses(world.workers).map(({ script, className, sqlite, host }) => [
    script,
    className,
    sqlite,
    host.id,
  ]);
  const versions = world.workers.map(({ name, versions }) => [name, versions.map(versionShape)]);
  const consumers = world.consumers.map((consumer) => [consumer, consumerVersion(world, consumer.script)?.id]);
  const shape = { classes, versions, consumers, kv: world.kv, r2: world.r2, queues: world.queues };
  return createHash("sha256").update(JSON.stringify(shape)).digest("hex");
}

function versionShape(version: Version): unknown {
  const { modules, ...rest } = version;
  return { ...rest, modules: modules.map(({ name, type, sha256 }) => [name, type, sha256]) };
}

const TYPES = {
  esm: "ESModule",
  cjs: "CommonJS",
  text: "Text",
  data: "Data",
  wasm: "CompiledWasm",
  json: "ESModule",
} as const;

function moduleOf({ name, type, path }: Module): {
  type: (typeof TYPES)[Module["type"]];
  path: string;
  contents: string | Uint8Array<ArrayBuffer>;
} {
  const bytes = readFileSync(path);
  if (type === "data" || type === "wasm")
    return { type: TYPES[type], path: `/${name}`, contents: new Uint8Array(bytes) };
  const source = bytes.toString("utf8");
  return { type: TYPES[type], path: `/${name}`, contents: type === "json" ? `export default ${source}` : source };
}

/** Modules with the main one first, which is how miniflare knows it. */
export function modulesOf(version: Version): ReturnType<typeof moduleOf>[] {
  const main = version.modules.filter((module) => module.name === version.main_module);
  const others = version.modules.filter((module) => module.name !== version.main_module);
  return [...main, ...others].map(moduleOf);
}

/** Options that bindings need, without what is empty. */
export function boundOptions(bound: Bound): Partial<WorkerOptions> {
  return Object.fromEntries(
    Object.entries(bound).filter(([, value]) => Object.keys(value as object).length > 0 || value instanceof URL),
  ) as Partial<WorkerOptions>;
}

/** Which version gets a queue's batches: the one with the largest share, the newest of equals. */
function consumerVersion(world: World, script: string): Version | undefined {
  const worker = world.workers.find((candidate) => candidate.name === script);
  if (!worker) return undefined;
  const share = (id: string) => worker.deployment?.versions.find((one) => one.version_id === id)?.percentage ?? 0;
  return deployed(worker).sort((a, b) => share(b.id) - share(a.id))[0];
}

function consumersOf(world: World, script: string, version: Version): Partial<WorkerOptions> {
  const mine = world.consumers.filter(
    (consumer) => consumer.script === script && consumerVersion(world, script)?.id === version.id,
  );
  if (mine.length === 0) return {};
  const entries = mine.map((consumer) => [
    consumer.queue,
    {
      ...(consumer.batch_size === undefined ? {} : { maxBatchSize: consumer.batch_size }),
      ...(consumer.max_wait_time_ms === undefined ? {} : { maxBatchTimeout: consumer.max_wait_time_ms / 1000 }),
      ...(consumer.max_retries === undefined ? {} : { maxRetries: consumer.max_retries }),
      ...(consumer.dead_letter_queue ? { deadLetterQueue: consumer.dead_letter_queue } : {}),
    },
  ]);
  return { queueConsumers: Object.fromEntries(entries) };
}

function versionWorker(
  world: World,
  script: string,
  version: Version,
  classes: readonly DurableClass[],
  around: Surroundings,
): WorkerOptions {
  const bound = bind({ script, version, world, classes, aiUrl: around.aiUrl });
  const own = new Set(Object.values(bound.durableObjects).map((object) => (object.scriptName ? "" : object.className)));
  const unbound = classes.filter(
    (one) => one.script === script && one.host.id === version.id && !own.has(one.className),
  );
  return {
    name: workerName(script, version.id),
    modules: modulesOf(version),
    modulesRoot: "/",
    compatibilityDate: version.compatibility_date,
    compatibilityFlags: [...version.compatibility_flags],
    tails: [{ name: TAIL, props: { script, version: version.id } }],
    additionalUnboundDurableObjects: unbound.map((one) => ({
      className: one.className,
      useSQLite: one.sqlite,
      unsafeUniqueKey: `${script}-${one.className}`,
    })),
    ...boundOptions(bound),
    ...consumersOf(world, script, version),
  } as WorkerOptions;
}

function inside(
  name: string,
  scripts: (typeof SCRIPTS)[keyof typeof SCRIPTS],
): { name: string; modules: typeof scripts; modulesRoot: string; compatibilityDate: string } {
  return { name, modules: scripts, modulesRoot: "/", compatibilityDate: COMPATIBILITY_DATE };
}

function router(world: World, around: Surroundings): WorkerOptions {
  const services: Record<string, unknown> = { TABLE: around.table };
  for (const worker of world.workers) {
    for (const version of worker.versions) services[versionBinding(version.id)] = workerName(worker.name, version.id);
  }
  const called = world.workers
    .flatMap((worker) => worker.versions.flatMap((version) => version.bindings))
    .filter((binding) => binding.type === "service" && binding.entrypoint);
  for (const { service, entrypoint } of called) {
    for (const { id } of world.workers.find((worker) => worker.name === service)?.versions ?? []) {
      services[versionBinding(id, String(entrypoint))] = { name: workerName(String(service), id), entrypoint };
    }
  }
  return {
    ...inside(ROUTER, SCRIPTS.router),
    bindings: { [SECRET_BINDING]: around.secret },
    serviceBindings: services,
    unsafeDirectSockets: [
      { host: "127.0.0.1", port: 0 },
      { host: "127.0.0.1", port: 0, entrypoint: "Admin" },
    ],
  } as unknown as WorkerOptions;
}

function admin(world: World, { s3: s3Credentials, secret }: Surroundings): WorkerOptions {
  return {
    ...inside(ADMIN, SCRIPTS.admin),
    bindings: { [SECRET_BINDING]: secret },
    kvNamespaces: Object.fromEntries(world.kv.map((id) => [`kv:${id}`, id])),
    r2Buckets: Object.fromEntries(world.r2.map(({ id }) => [`r2:${id}`, { id, s3Credentials }])),
    unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
  } as unknown as WorkerOptions;
}

export function build(world: World, around: Surroundings): MiniflareOptions {
  const classes = durableClasses(world.workers);
  const versions = world.workers.flatMap((worker) =>
    worker.versions.map((version) => versionWorker(world, worker.name, version, classes, around)),
  );
  // A wrapped binding must have no compatibility date: it runs inside the Worker that it is bound to.
  const analytics = {
    name: ANALYTICS,
    modules: SCRIPTS.analytics,
    modulesRoot: "/",
    serviceBindings: { SINK: around.sink },
  };
  const tail = { ...inside(TAIL, SCRIPTS.tail), serviceBindings: { SINK: around.sink } };
  const persist = (folder: string) => join(around.data, folder);
  return {
    host: "127.0.0.1",
    port: 0,
    cf: false,
    telemetry: { enabled: false },
    kvPersist: persist("kv"),
    r2Persist: persist("r2"),
    durableObjectsPersist: persist("do"),
    cachePersist: persist("cache"),
    d1Persist: persist("d1"),
    unsafeRuntimeEnv: { SLUICEWAY_ROLE: "stage" },
    handleRuntimeStdio: around.output,
    unsafeHandleRuntimeRestart: around.restarted,
    workers: [router(world, around), admin(world, around), tail, analytics, ...versions],
  } as unknown as MiniflareOptions;
}
