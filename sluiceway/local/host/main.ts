/** The local stage's data plane: one process that embeds the Workers runtime and has the public port in front of it. */

import { AdminHttp } from "./admin_http.ts";
import { AlreadyRunning, Children } from "./children.ts";
import { type Config, ConfigError, readConfig } from "./config.ts";
import { Front } from "./front.ts";
import { log, text } from "./log.ts";
import { guardLoopback } from "./loopback.ts";
import { S3Faults } from "./s3_faults.ts";
import { Schedule } from "./schedule.ts";
import { Sink } from "./sink.ts";
import { Stage } from "./stage.ts";

const CANNOT_START = 3;
const DISPOSE_MS = 3_000;

let children: Children | undefined;
let stage: Stage | undefined;
let ending = false;

/** Takes the runtime along, and ends within DISPOSE_MS whatever hangs. */
async function end(reason: string, code = 0): Promise<void> {
  if (ending) return;
  ending = true;
  log("info", "host ends", { reason });
  setTimeout(() => leave(code), DISPOSE_MS);
  await stage?.dispose().catch((error) => log("warn", "the runtime did not end cleanly", { reason: text(error) }));
  leave(code);
}

function leave(code: number): never {
  children?.killAll();
  process.exit(code);
}

async function start(config: Config): Promise<Record<string, unknown>> {
  children = new Children(config.data);
  await children.recover();
  const faults = new S3Faults(config.faultUrl);
  const front = new Front(config.bodyLimit, faults);
  const frontPort = await front.listen(config.frontPort);
  children.watch();
  guardLoopback();
  stage = new Stage(config, front, children, new Sink(config.sinkUrl));
  await stage.start();
  const running = stage;
  children.onStageEnd = () => running.ended();
  const schedule = new Schedule((script, cron, time) => running.scheduled(script, cron, time));
  const admin = new AdminHttp(running, schedule, faults, config.adminToken);
  const adminUrl = await admin.listen();
  return { ready: true, admin_url: adminUrl, front_port: frontPort, workerd_pid: running.workerdPid };
}

function startError(error: unknown): { code: string; message: string } {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") return { code: "port_in_use", message: text(error) };
  if (error instanceof AlreadyRunning) return { code: "already_running", message: error.message };
  if (error instanceof ConfigError) return { code: "bad_config", message: error.message };
  return { code: "failed", message: text(error) };
}

function tell(line: unknown): Promise<void> {
  return new Promise((resolve) => process.stdout.write(`${JSON.stringify(line)}\n`, () => resolve()));
}

process.removeAllListeners("warning");
process.on("warning", (warning) => {
  // Taking the types off the scripts inside is called experimental by Node at every start.
  if (warning.name !== "ExperimentalWarning") log("warn", "node warning", { message: warning.message });
});
process.on("SIGTERM", () => void end("SIGTERM"));
process.on("SIGINT", () => void end("SIGINT"));
process.on("unhandledRejection", (error) =>
  log("error", "unhandled rejection", { reason: error instanceof Error ? error.stack : text(error) }),
);
process.on("uncaughtException", (error) => {
  log("error", "uncaught exception", { reason: error.stack });
  void end("uncaught exception", 1);
});

try {
  await tell(await start(await readConfig(() => void end("stdin closed"))));
} catch (error) {
  await tell({ ready: false, error: startError(error) });
  await end("could not start", CANNOT_START);
}
