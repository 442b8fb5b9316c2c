/** The world that the control plane pushes: what is deployed, and the resources it may bind. Checked at this border. */

export interface Module {
  readonly name: string;
  readonly type: "esm" | "cjs" | "text" | "data" | "wasm" | "json";
  readonly sha256: string;
  readonly path: string;
}

export interface Binding {
  readonly name: string;
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface Version {
  readonly id: string;
  readonly number: number;
  readonly tag: string;
  readonly created_on: string;
  readonly main_module: string;
  readonly modules: readonly Module[];
  readonly compatibility_date: string;
  readonly compatibility_flags: readonly string[];
  readonly bindings: readonly Binding[];
  readonly exports: Readonly<Record<string, { type: string; storage?: string }>> | null;
  readonly migrations: unknown;
}

export interface Worker {
  readonly name: string;
  readonly versions: readonly Version[];
  readonly deployment: { readonly versions: readonly { version_id: string; percentage: number }[] } | null;
  readonly subdomain: { readonly enabled: boolean; readonly previews_enabled: boolean };
  readonly crons: readonly string[];
}

export interface Bucket {
  readonly id: string;
  readonly name: string;
  readonly jurisdiction: string;
}

export interface Consumer {
  readonly queue: string;
  readonly script: string;
  readonly batch_size?: number;
  readonly max_wait_time_ms?: number;
  readonly max_retries?: number;
  readonly dead_letter_queue?: string;
}

export interface World {
  readonly generation: number;
  readonly workers: readonly Worker[];
  readonly routes: readonly { pattern: string; script: string | null }[];
  readonly domains: readonly { hostname: string; service: string }[];
  readonly account_subdomain: string;
  readonly kv: readonly string[];
  readonly r2: readonly Bucket[];
  readonly queues: readonly string[];
  readonly consumers: readonly Consumer[];
  readonly rate_limits: readonly { zone: string; rules: readonly Record<string, unknown>[] }[];
  readonly main_worker: string | null;
}

/** What Cloudflare answers as an API error: a code and a message that says what to change. */
export class WorldError extends Error {
  readonly code: number;

  constructor(message: string, code = 10021) {
    super(message);
    this.code = code;
  }
}

export const EMPTY_WORLD: World = {
  generation: 0,
  workers: [],
  routes: [],
  domains: [],
  account_subdomain: "local",
  kv: [],
  r2: [],
  queues: [],
  consumers: [],
  rate_limits: [],
  main_worker: null,
};

const MODULE_TYPES = new Set(["esm", "cjs", "text", "data", "wasm", "json"]);

function must(condition: boolean, message: string): asserts condition {
  if (!condition) throw new WorldError(message);
}

export function parseVersion(given: unknown, where: string): Version {
  must(typeof given === "object" && given !== null, `${where}: a version must be an object`);
  const version = {
    tag: "",
    number: 0,
    created_on: "",
    compatibility_flags: [],
    bindings: [],
    exports: null,
    migrations: null,
    ...(given as Partial<Version>),
  } as Version;
  must(typeof version.id === "string" && version.id !== "", `${where}: "id" is missing`);
  must(Array.isArray(version.modules) && version.modules.length > 0, `${where}: there are no modules`);
  for (const module of version.modules)
    must(MODULE_TYPES.has(module.type), `${where}: module "${module.name}" has unknown type "${module.type}"`);
  must(
    version.modules.some((module) => module.name === version.main_module),
    `${where}: no module is named "${version.main_module}" (main_module)`,
  );
  const names = version.bindings.map((binding) => binding.name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  must(twice === undefined, `${where}: binding "${twice}" is declared twice`);
  return version;
}

function parseWorker(given: Partial<Worker>): Worker {
  must(typeof given.name === "string" && given.name !== "", 'a worker has no "name"');
  const where = `worker "${given.name}"`;
  const versions = (given.versions ?? []).map((version) => parseVersion(version, where));
  for (const share of given.deployment?.versions ?? []) {
    must(
      versions.some((version) => version.id === share.version_id),
      `${where}: version ${share.version_id} is deployed but not in the world`,
    );
  }
  return {
    name: given.name,
    versions,
    deployment: given.deployment ?? null,
    subdomain: given.subdomain ?? { enabled: false, previews_enabled: false },
    crons: given.crons ?? [],
  };
}

/** Missing lists count as empty. Throws WorldError. */
export function parseWorld(given: unknown): World {
  must(typeof given === "object" && given !== null && !Array.isArray(given), "a world must be an object");
  const partial = given as Partial<World>;
  must(Number.isInteger(partial.generation), '"generation" must be a whole number');
  const workers = (partial.workers ?? []).map(parseWorker);
  const names = workers.map((worker) => worker.name);
  must(new Set(names).size === names.length, "two workers have the same name");
  return { ...EMPTY_WORLD, ...partial, workers };
}

/** Deployed versions of a worker, newest first. */
export function deployed(worker: Worker): Version[] {
  const ids = new Set((worker.deployment?.versions ?? []).map((share) => share.version_id));
  return newestFirst(worker.versions.filter((version) => ids.has(version.id)));
}

export function newestFirst(versions: readonly Version[]): Version[] {
  return [...versions].sort((a, b) => b.number - a.number || b.created_on.localeCompare(a.created_on));
}
