// Starts one Worker in a process of its own: whoever reads its log lines must not be who sends the load.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { bareAi, bareFetch, least, ours, type RunningWorker } from "./workers.ts";

const KINDS = { bareAi, bareFetch, least, ours } satisfies Record<string, (...args: never[]) => Promise<RunningWorker>>;

interface Started {
  readonly port: number;
  readonly entryPort: number;
  readonly pids: number[];
  readonly startMs: number;
}

/** The Worker of `kind`, made by the function of that name with these arguments. */
export async function apart<Kind extends keyof typeof KINDS>(
  kind: Kind,
  ...args: Parameters<(typeof KINDS)[Kind]>
): Promise<RunningWorker> {
  const child = fork(fileURLToPath(import.meta.url), [JSON.stringify({ kind, args })], { stdio: "inherit" });
  const gone = new Promise<never>((_, reject) => {
    child.once("exit", (code) => reject(new Error(`the Worker did not start (${code})`)));
  });
  const told = new Promise<Started>((resolve) => child.once("message", (message) => resolve(message as Started)));
  const { port, entryPort, pids, startMs } = await Promise.race([told, gone]);
  gone.catch(() => {});
  const stop = async () => {
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    child.disconnect();
    await ended;
  };
  return { port, entryPort, startMs, pids: () => pids, stop };
}

async function main(order: string): Promise<void> {
  const { kind, args } = JSON.parse(order) as { kind: keyof typeof KINDS; args: never[] };
  const since = performance.now();
  const running = await (KINDS[kind] as (...args: never[]) => Promise<RunningWorker>)(...args);
  process.once("disconnect", () => void running.stop().finally(() => process.exit(0)));
  const startMs = performance.now() - since;
  const { port, entryPort } = running;
  process.send?.({ port, entryPort, pids: running.pids(), startMs } satisfies Started);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv[2] ?? "");
