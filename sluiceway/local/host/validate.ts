/** Tries a version in a throwaway runtime: does it parse, start, and export what it says? */

import { Miniflare, type WorkerOptions } from "miniflare";
import { declaredClasses } from "./durable.ts";
import { modulesOf } from "./options.ts";
import { type Version, WorldError } from "./world.ts";

export interface Verdict {
  readonly startup_time_ms: number;
  readonly handlers: readonly string[];
}

interface Found {
  readonly handlers: string[];
  readonly exported: string[];
}

const PROBE = "/__sluiceway_probe.mjs";

/** Imports the version as it is, and tells what it exports. */
function probe(main: string): string {
  return `import * as user from ${JSON.stringify(`./${main}`)};
export * from ${JSON.stringify(`./${main}`)};
const names = (value) => {
  const found = new Set();
  for (let at = typeof value === "function" ? value.prototype : value; at && at !== Object.prototype; at = Object.getPrototypeOf(at))
    for (const name of Object.getOwnPropertyNames(at)) if (name !== "constructor" && typeof at[name] === "function") found.add(name);
  return [...found];
};
const main = user.default;
export default { fetch: () => Response.json({ handlers: main ? names(main) : [], exported: Object.keys(user).filter((name) => typeof user[name] === "function") }) };
`;
}

/** Values, so that top-level code which reads them does not fail; resources, so that nothing real is touched. */
function bindings(version: Version): Partial<WorkerOptions> {
  const plain = version.bindings.filter((binding) => binding.type === "plain_text" || binding.type === "secret_text");
  return { bindings: Object.fromEntries(plain.map((binding) => [binding.name, String(binding.text ?? "")])) };
}

/** What the runtime writes when it can't start -> the part that concerns the script. */
export function startupMessage(error: unknown): string {
  const full = error instanceof Error ? error.message : String(error);
  const [, stderr] = full.split("Runtime stderr:\n");
  const lines = (stderr ?? full)
    .split("\n")
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colour codes are what is taken out
    .map((line) => line.replace(/\u001b\[[0-9;]*m/g, "").replace(/^service core:user:[^:]*(@[^:]*)?: /, ""))
    .filter((line) => line.trim() !== "" && !/^\*\*\* |^stack: |\.\/workerd\/|^workerd\//.test(line));
  return lines.slice(0, 12).join("\n") || full;
}

function checkExports(version: Version, found: Found): void {
  const missing = [...declaredClasses(version).keys()].find((name) => !found.exported.includes(name));
  if (missing !== undefined) {
    throw new WorldError(
      `Durable Object class '${missing}' is declared but the script does not export it (it exports: ${found.exported.join(", ") || "nothing"}).`,
      10061,
    );
  }
  if (found.handlers.length === 0 && found.exported.length === 0)
    throw new WorldError("The uploaded script has no registered event handlers.", 10068);
}

export async function validate(version: Version): Promise<Verdict> {
  const began = performance.now();
  let runtime: Miniflare | undefined;
  try {
    runtime = new Miniflare({
      name: "candidate",
      modules: [{ type: "ESModule", path: PROBE, contents: probe(version.main_module) }, ...modulesOf(version)],
      modulesRoot: "/",
      compatibilityDate: version.compatibility_date,
      compatibilityFlags: [...version.compatibility_flags],
      host: "127.0.0.1",
      port: 0,
      cf: false,
      telemetry: { enabled: false },
      unsafeRuntimeEnv: { SLUICEWAY_ROLE: "throwaway" },
      handleRuntimeStdio: (stdout, stderr) => {
        stdout.resume();
        stderr.resume();
      },
      ...bindings(version),
    } as ConstructorParameters<typeof Miniflare>[0]);
    await runtime.ready;
    const elapsed = Math.round(performance.now() - began);
    const found = (await (await runtime.dispatchFetch("http://candidate/")).json()) as Found;
    checkExports(version, found);
    return { startup_time_ms: elapsed, handlers: found.handlers };
  } catch (error) {
    throw error instanceof WorldError ? error : new WorldError(startupMessage(error));
  } finally {
    // A runtime that never came up can't be disposed of, and has ended by itself.
    await runtime?.dispose().catch(() => undefined);
  }
}
