/** The one runtime that serves: applies worlds to it, keeps the last good one serving, survives its crashes. */

import { randomBytes } from "node:crypto";
import type { Readable } from "node:stream";
import { Miniflare, type MiniflareOptions, Response } from "miniflare";
import { workerName } from "./bindings.ts";
import type { Children } from "./children.ts";
import type { Config } from "./config.ts";
import type { Front } from "./front.ts";
import { byPoint } from "./inside/pick.ts";
import { EMPTY_TABLE, type RouterTable, SECRET_HEADER } from "./inside/table.ts";
import { log, text } from "./log.ts";
import { ADMIN, build, fingerprint, ROUTER, type Surroundings } from "./options.ts";
import { routing } from "./routing.ts";
import type { Sink } from "./sink.ts";
import { startupMessage, validate } from "./validate.ts";
import { EMPTY_WORLD, type Version, type World, WorldError } from "./world.ts";

export interface Applied {
  readonly generation: number;
  readonly reloaded: boolean;
}

export class Stage {
  readonly #config: Config;
  readonly #front: Front;
  readonly #children: Children;
  readonly #around: Surroundings;
  #runtime: Miniflare | null = null;
  #world: World = EMPTY_WORLD;
  #table: RouterTable = EMPTY_TABLE;
  #print = "";
  #adminUrl: URL | null = null;
  /** Code that has passed, so that it is tried once and not at each world. */
  readonly #tried = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();
  #disposed = false;

  constructor(config: Config, front: Front, children: Children, sink: Sink) {
    this.#config = config;
    this.#front = front;
    this.#children = children;
    this.#around = {
      data: config.data,
      aiUrl: config.aiUrl,
      s3: config.s3,
      secret: randomBytes(24).toString("base64url"),
      table: () => Response.json(this.#table),
      sink: async (request) => {
        sink.add((await request.json()) as unknown[]);
        return new Response(null, { status: 204 });
      },
      output,
      restarted: () => this.#restarted(),
    };
  }

  get world(): World {
    return this.#world;
  }

  get workerdPid(): number | null {
    return this.#children.stagePid;
  }

  /** Of the script that reaches KV and R2. */
  get adminUrl(): URL {
    if (this.#adminUrl === null) throw new Error("the runtime has not started");
    return this.#adminUrl;
  }

  /** Headers that the scripts inside ask for before they listen. */
  get credentials(): readonly [string, string] {
    return [SECRET_HEADER, this.#around.secret];
  }

  start(): Promise<Applied> {
    return this.apply(EMPTY_WORLD);
  }

  /** One at a time, in the order of the calls. Throws WorldError, and then the world of before still serves. */
  apply(world: World): Promise<Applied> {
    const next = this.#last.then(() => this.#apply(world));
    this.#last = next.catch(() => undefined);
    return next;
  }

  /** Remembers that this code is good, so that applying it does not try it again. */
  async validate(version: Version): Promise<{ startup_time_ms: number; handlers: readonly string[] }> {
    const verdict = await validate(version);
    this.#tried.add(codeKey(version));
    return verdict;
  }

  /** Runs `work` between reloads, never across one. */
  undisturbed(work: () => Promise<void>): Promise<void> {
    return this.#front.pass(work);
  }

  /** Runs the scheduled handler of a Worker's deployed version, chosen by the split. */
  async scheduled(script: string, cron: string, time: Date): Promise<string> {
    const version = byPoint(this.#table.workers[script]?.split ?? [], Math.random() * 100);
    if (version === undefined || this.#runtime === null)
      throw new WorldError(`worker "${script}" has no deployed version`, 10007);
    const worker = await this.#runtime.getWorker(workerName(script, version));
    const result = (await (worker as unknown as { scheduled(options: object): Promise<{ outcome: string }> }).scheduled(
      { cron, scheduledTime: time },
    )) as { outcome: string };
    return result.outcome;
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    await this.#runtime?.dispose();
  }

  async #apply(world: World): Promise<Applied> {
    const print = fingerprint(world);
    const { table, refused } = routing(world, this.#config.hostSuffix);
    if (print !== this.#print) {
      await this.#try(world);
      await this.#reload(world, table);
      this.#print = print;
      this.#keep(world, table, refused);
      return { generation: world.generation, reloaded: true };
    }
    if (JSON.stringify(table) !== JSON.stringify(this.#table)) await this.#push(table);
    this.#keep(world, table, refused);
    return { generation: world.generation, reloaded: false };
  }

  #keep(world: World, table: RouterTable, refused: ReturnType<typeof routing>["refused"]): void {
    this.#world = world;
    this.#table = table;
    for (const rule of refused) log("error", "RATE-LIMIT RULE IS NOT ENFORCED on the local stage", { ...rule });
  }

  async #try(world: World): Promise<void> {
    for (const version of world.workers.flatMap((worker) => worker.versions)) {
      if (!this.#tried.has(codeKey(version))) await this.validate(version);
    }
  }

  async #reload(world: World, table: RouterTable): Promise<void> {
    const options = build(world, this.#around);
    const [lastWorld, lastTable] = [this.#world, this.#table];
    await this.#front.hold(this.#runtime === null ? 0 : this.#config.drainMs, async () => {
      this.#table = table;
      try {
        await this.#run(options);
      } catch (error) {
        this.#table = lastTable;
        await this.#goBack(lastWorld);
        throw error instanceof WorldError ? error : new WorldError(startupMessage(error));
      }
    });
  }

  async #goBack(world: World): Promise<void> {
    if (this.#print === "" || this.#runtime === null) return;
    log("error", "the runtime refused the new world; going back to the last good one", {
      generation: world.generation,
    });
    try {
      await this.#run(build(world, this.#around));
    } catch (error) {
      this.#print = ""; // nothing serves: whatever world comes next is a new one
      throw error;
    }
  }

  /**
   * miniflare has a new process listen where the old one did, and gives up for good when another program was given that
   * port in between, which a busy machine does. Nobody needs those ports: a fresh miniflare takes free ones.
   */
  async #run(options: MiniflareOptions): Promise<void> {
    if (this.#runtime !== null) {
      try {
        await this.#runtime.setOptions(options);
        return await this.#point();
      } catch (error) {
        if (!portTaken(error)) throw error;
        await this.#leave(error);
      }
    }
    this.#runtime = new Miniflare(options);
    await this.#point();
  }

  async #leave(reason: unknown): Promise<void> {
    log("warn", "the runtime's port was taken by another program; it moves to a free one", { reason: text(reason) });
    await this.#runtime?.dispose().catch(() => undefined);
    this.#runtime = null;
  }

  async #point(): Promise<void> {
    const runtime = this.#runtime as Miniflare;
    const entry = await runtime.ready;
    this.#adminUrl = await runtime.unsafeGetDirectURL(ADMIN);
    this.#front.point({ router: await runtime.unsafeGetDirectURL(ROUTER), entry });
  }

  async #push(table: RouterTable): Promise<void> {
    const url = await (this.#runtime as Miniflare).unsafeGetDirectURL(ROUTER, "Admin");
    const answer = await fetch(url, {
      method: "PUT",
      headers: [[...this.credentials]],
      body: JSON.stringify(table),
    });
    if (answer.status !== 204) throw new Error(`the router refused its table: ${answer.status}`);
  }

  async #restarted(): Promise<void> {
    log("warn", "the runtime crashed and was started again", { pid: this.workerdPid });
    await this.#point().catch((error) => log("error", "the runtime did not come back", { reason: text(error) }));
  }

  /** A process of the runtime has ended, by a reload, at the very end, or by itself. Does one serve again? */
  ended(): void {
    this.#last = this.#last
      .then(() => this.#recover())
      .catch((error) => log("error", "the runtime did not come back", { reason: text(error) }));
  }

  /** miniflare starts a crashed runtime again once; where that fails, a fresh one is made. */
  async #recover(): Promise<void> {
    const runtime = this.#runtime;
    if (runtime === null || this.#disposed) return;
    try {
      await runtime.ready;
    } catch (error) {
      if (this.#disposed) return;
      await this.#leave(error);
      await this.#front.hold(0, () => this.#run(build(this.#world, this.#around)));
      log("warn", "the runtime crashed and was started again", { pid: this.workerdPid });
    }
  }
}

function portTaken(error: unknown): boolean {
  return (error as { code?: string }).code === "ERR_ADDRESS_IN_USE" || text(error).includes("Address already in use");
}

function codeKey(version: Version): string {
  const { modules, compatibility_date, compatibility_flags, main_module, exports, migrations } = version;
  const classes = version.bindings.filter((binding) => binding.type === "durable_object_namespace");
  return JSON.stringify([
    modules.map(({ name, type, sha256 }) => [name, type, sha256]),
    main_module,
    compatibility_date,
    compatibility_flags,
    exports,
    migrations,
    classes,
  ]);
}

/** What Workers print comes by the tail; only the runtime's own complaints are of use here. */
function output(stdout: Readable, stderr: Readable): void {
  stdout.resume();
  let rest = "";
  stderr.setEncoding("utf8").on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") log("warn", "runtime", { line });
  });
}
