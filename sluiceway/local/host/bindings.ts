/** One binding of a version, as the Cloudflare API describes it -> the options that make miniflare provide it. */

import type { WorkerOptions } from "miniflare";
import type { DurableClass } from "./durable.ts";
import { type Binding, type Version, type World, WorldError } from "./world.ts";

/** The fields of miniflare's options that bindings fill. */
export interface Bound {
  bindings: Record<string, unknown>;
  kvNamespaces: Record<string, string>;
  r2Buckets: Record<string, string>;
  d1Databases: Record<string, string>;
  ratelimits: NonNullable<WorkerOptions["ratelimits"]>;
  queueProducers: Record<string, { queueName: string }>;
  wrappedBindings: Record<string, { scriptName: string; entrypoint: string; bindings: Record<string, string> }>;
  serviceBindings: Record<string, { name: string; entrypoint: string; props: Record<string, unknown> }>;
  durableObjects: Record<
    string,
    { className: string; scriptName?: string; useSQLite: boolean; unsafeUniqueKey: string }
  >;
  ai?: { binding: string; remoteProxyConnectionString: URL };
}

export interface BindingScope {
  readonly script: string;
  readonly version: Version;
  readonly world: Pick<World, "kv" | "r2" | "queues" | "workers">;
  readonly classes: readonly DurableClass[];
  readonly aiUrl: string;
}

export const ROUTER = "sluiceway:router";
export const ANALYTICS = "sluiceway:analytics";

export function workerName(script: string, versionId: string): string {
  return `${script}@${versionId}`;
}

type Bind = (into: Bound, binding: Binding, scope: BindingScope) => void;

function field(binding: Binding, name: string): string {
  const value = binding[name];
  if (typeof value !== "string" || value === "")
    throw new WorldError(`binding "${binding.name}" (${binding.type}) has no "${name}"`);
  return value;
}

const kv: Bind = (into, binding, { world }) => {
  const id = field(binding, "namespace_id");
  if (!world.kv.includes(id)) throw new WorldError(`KV namespace '${id}' not found (binding "${binding.name}")`, 10041);
  into.kvNamespaces[binding.name] = id;
};

const r2: Bind = (into, binding, { world }) => {
  const name = field(binding, "bucket_name");
  const jurisdiction = binding.jurisdiction || "default";
  const bucket = world.r2.find((candidate) => candidate.name === name && candidate.jurisdiction === jurisdiction);
  if (bucket === undefined)
    throw new WorldError(
      `R2 bucket '${name}' not found in jurisdiction '${jurisdiction}' (binding "${binding.name}")`,
      10085,
    );
  into.r2Buckets[binding.name] = bucket.id;
};

const rateLimit: Bind = (into, binding) => {
  const simple = binding.simple as { limit?: unknown; period?: unknown } | undefined;
  if (typeof simple?.limit !== "number" || (simple.period !== 10 && simple.period !== 60)) {
    throw new WorldError(`binding "${binding.name}": a rate limit needs simple.limit, and simple.period of 10 or 60`);
  }
  into.ratelimits[binding.name] = {
    namespace_id: field(binding, "namespace_id"),
    simple: { limit: simple.limit, period: simple.period },
  };
};

const queue: Bind = (into, binding, { world }) => {
  const queueName = field(binding, "queue_name");
  if (!world.queues.includes(queueName))
    throw new WorldError(`Queue '${queueName}' not found (binding "${binding.name}")`, 11000);
  into.queueProducers[binding.name] = { queueName };
};

const json: Bind = (into, binding) => {
  const value = binding.json;
  into.bindings[binding.name] = typeof value === "string" ? JSON.parse(value) : value;
};

const durable: Bind = (into, binding, { classes, script, version }) => {
  const className = field(binding, "class_name");
  const owner = typeof binding.script_name === "string" && binding.script_name ? binding.script_name : script;
  const found = classes.find((candidate) => candidate.script === owner && candidate.className === className);
  if (found === undefined)
    throw new WorldError(
      `binding "${binding.name}": worker "${owner}" exports no Durable Object class "${className}"`,
      10061,
    );
  const here = owner === script && found.host.id === version.id;
  into.durableObjects[binding.name] = {
    className,
    ...(here ? {} : { scriptName: workerName(owner, found.host.id) }),
    useSQLite: found.sqlite,
    unsafeUniqueKey: `${owner}-${className}`,
  };
};

const service: Bind = (into, binding, { world }) => {
  const script = field(binding, "service");
  if (!world.workers.some((worker) => worker.name === script))
    throw new WorldError(`binding "${binding.name}": there is no worker "${script}"`, 10143);
  const entrypoint = binding.entrypoint ? { entrypoint: field(binding, "entrypoint") } : {};
  into.serviceBindings[binding.name] = { name: ROUTER, entrypoint: "Service", props: { script, ...entrypoint } };
};

const BINDS: Readonly<Record<string, Bind>> = {
  ai: (into, binding, { aiUrl }) => {
    if (into.ai !== undefined)
      throw new WorldError(`bindings "${into.ai.binding}" and "${binding.name}": a Worker can have one ai binding`);
    into.ai = { binding: binding.name, remoteProxyConnectionString: new URL(aiUrl) };
  },
  kv_namespace: kv,
  r2_bucket: r2,
  ratelimit: rateLimit,
  queue,
  json,
  durable_object_namespace: durable,
  service,
  analytics_engine: (into, binding, { script, version }) => {
    into.wrappedBindings[binding.name] = {
      scriptName: ANALYTICS,
      entrypoint: "dataset",
      bindings: { dataset: field(binding, "dataset"), script, version: version.id },
    };
  },
  version_metadata: (into, binding, { version }) => {
    into.bindings[binding.name] = { id: version.id, tag: version.tag, timestamp: version.created_on };
  },
  plain_text: (into, binding) => {
    into.bindings[binding.name] = String(binding.text ?? "");
  },
  secret_text: (into, binding) => {
    into.bindings[binding.name] = String(binding.text ?? "");
  },
  d1: (into, binding) => {
    into.d1Databases[binding.name] = String(binding.id ?? binding.database_id);
  },
};

export function bind(scope: BindingScope): Bound {
  const into: Bound = {
    bindings: {},
    kvNamespaces: {},
    r2Buckets: {},
    d1Databases: {},
    ratelimits: {},
    queueProducers: {},
    wrappedBindings: {},
    serviceBindings: {},
    durableObjects: {},
  };
  for (const binding of scope.version.bindings) {
    const one = BINDS[binding.type];
    if (one === undefined) {
      const known = Object.keys(BINDS).join(", ");
      throw new WorldError(
        `binding "${binding.name}" of worker "${scope.script}" has type "${binding.type}", which the local stage does not have (it has: ${known})`,
      );
    }
    one(into, binding, scope);
  }
  return into;
}
