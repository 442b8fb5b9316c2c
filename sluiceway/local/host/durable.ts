/**
 * Which version runs a Durable Object class. The runtime lets exactly one version own a class, so the newest deployed one
 * that declares it does, and every other version reaches it there. On Cloudflare each object is pinned to a version.
 */

import { deployed, newestFirst, type Version, type Worker } from "./world.ts";

export interface DurableClass {
  readonly script: string;
  readonly className: string;
  readonly sqlite: boolean;
  readonly host: Version;
}

interface Migration {
  readonly new_classes?: readonly string[];
  readonly new_sqlite_classes?: readonly string[];
  readonly steps?: readonly Migration[];
}

/** Class name -> whether its storage is SQLite, as the version declares it by exports, migrations or its own bindings. */
export function declaredClasses(version: Version): Map<string, boolean> {
  const classes = new Map<string, boolean>();
  for (const binding of version.bindings) {
    if (binding.type === "durable_object_namespace" && !binding.script_name)
      classes.set(String(binding.class_name), true);
  }
  const migrations = (
    Array.isArray(version.migrations) ? version.migrations : [version.migrations ?? {}]
  ) as Migration[];
  for (const step of migrations.flatMap((migration) => [migration, ...(migration.steps ?? [])])) {
    for (const name of step.new_classes ?? []) classes.set(name, false);
    for (const name of step.new_sqlite_classes ?? []) classes.set(name, true);
  }
  for (const [name, declared] of Object.entries(version.exports ?? {})) {
    if (declared.type === "durable-object") classes.set(name, declared.storage !== "legacy-kv");
  }
  return classes;
}

export function durableClasses(workers: readonly Worker[]): DurableClass[] {
  return workers.flatMap((worker) => {
    const found = new Map<string, DurableClass>();
    for (const version of [...deployed(worker), ...newestFirst(worker.versions)]) {
      for (const [className, sqlite] of declaredClasses(version)) {
        if (!found.has(className)) found.set(className, { script: worker.name, className, sqlite, host: version });
      }
    }
    return [...found.values()];
  });
}
