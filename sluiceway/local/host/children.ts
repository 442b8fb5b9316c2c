/**
 * The runtime's processes, written down so that one which outlives a killed host does not keep the data open for ever.
 *
 * miniflare does not tell the pid of the process that it starts, so its call of `spawn` is watched.
 */

import childProcess, { type ChildProcess, execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { log } from "./log.ts";

interface Seen {
  readonly pid: number;
  /** As the kernel tells it: a pid that was given to another process since has another start. */
  readonly start: string;
}

interface Recorded {
  readonly host: Seen;
  readonly children: readonly Seen[];
}

/** Undefined when there is no such process. */
function processStart(pid: number): string | undefined {
  try {
    if (process.platform === "linux") {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      // A zombie holds nothing open any more.
      return fields[0] === "Z" ? undefined : fields[19];
    }
    return execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim() || undefined;
  } catch {
    return undefined;
  }
}

export class AlreadyRunning extends Error {}

export class Children {
  readonly #file: string;
  readonly #running = new Map<number, Seen>();
  #stage: number | null = null;
  /** Told when a process that served has ended. */
  onStageEnd: () => void = () => {};

  constructor(data: string) {
    mkdirSync(data, { recursive: true });
    this.#file = join(data, "processes.json");
  }

  /** The pid of the runtime that serves; null between two of them. */
  get stagePid(): number | null {
    return this.#stage;
  }

  /** Ends what a host that was killed has left. Throws AlreadyRunning if that host still lives. */
  async recover(): Promise<void> {
    const recorded = this.#read();
    if (recorded !== null) {
      const { host, children } = recorded;
      if (host.pid !== process.pid && processStart(host.pid) === host.start)
        throw new AlreadyRunning(`another host (pid ${host.pid}) has this data directory`);
      await Promise.all(children.map(end));
    }
    this.#write();
  }

  #read(): Recorded | null {
    try {
      return JSON.parse(readFileSync(this.#file, "utf8")) as Recorded;
    } catch {
      return null;
    }
  }

  #write(): void {
    const host = { pid: process.pid, start: processStart(process.pid) ?? "" };
    writeFileSync(`${this.#file}.new`, JSON.stringify({ host, children: [...this.#running.values()] }), {
      mode: 0o600,
    });
    renameSync(`${this.#file}.new`, this.#file);
  }

  /** From now on every runtime process that miniflare starts is recorded until it ends. */
  watch(): void {
    const spawn = childProcess.spawn as (...args: unknown[]) => ChildProcess;
    childProcess.spawn = ((...args: unknown[]) => {
      const child = spawn(...args);
      const options = args[2] as { env?: Record<string, string> } | undefined;
      if (options?.env?.SLUICEWAY_ROLE !== undefined) this.#add(child, options.env.SLUICEWAY_ROLE);
      return child;
    }) as typeof childProcess.spawn;
  }

  #add(child: ChildProcess, role: string): void {
    const { pid } = child;
    if (pid === undefined) return;
    this.#running.set(pid, { pid, start: processStart(pid) ?? "" });
    if (role === "stage") this.#stage = pid;
    this.#write();
    child.once("exit", (code, signal) => {
      this.#running.delete(pid);
      if (this.#stage === pid) this.#stage = null;
      log("debug", "runtime process ended", { pid, role, code, signal });
      this.#write();
      // Later: miniflare's own listener comes after this one.
      if (role === "stage") setTimeout(this.onStageEnd, 50);
    });
  }

  /** At the very end, when nothing may be waited for. */
  killAll(): void {
    for (const { pid } of this.#running.values()) kill(pid);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has gone by itself.
  }
}

async function end({ pid, start }: Seen): Promise<void> {
  if (processStart(pid) !== start) return;
  log("warn", "ending a runtime process that an earlier host left", { pid });
  kill(pid);
  for (let tries = 0; tries < 100 && processStart(pid) === start; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
