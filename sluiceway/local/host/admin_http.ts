/** The host's own API for the control plane: worlds, validation, KV, R2, crons. Loopback, and by a secret token. */

import { timingSafeEqual } from "node:crypto";
import { Agent, createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { CronError, parseCron } from "./cron.ts";
import { forward } from "./forward.ts";
import { SECRET_HEADER } from "./inside/table.ts";
import { log, text } from "./log.ts";
import type { S3Faults } from "./s3_faults.ts";
import type { Schedule } from "./schedule.ts";
import type { Stage } from "./stage.ts";
import { parseVersion, parseWorld, WorldError } from "./world.ts";

type Handler = (request: IncomingMessage, response: ServerResponse, parts: string[]) => Promise<void>;

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function readJson(request: IncomingMessage): Promise<Record<string, unknown>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8")) as Record<string, unknown>;
  } catch {
    throw new WorldError("the body is not JSON", 10006);
  }
}

export class AdminHttp {
  readonly #stage: Stage;
  readonly #schedule: Schedule;
  readonly #faults: S3Faults;
  readonly #expected: Buffer;
  readonly #agent = new Agent({ keepAlive: false });
  readonly #server: Server;

  constructor(stage: Stage, schedule: Schedule, faults: S3Faults, token: string) {
    this.#stage = stage;
    this.#schedule = schedule;
    this.#faults = faults;
    this.#expected = Buffer.from(`Bearer ${token}`);
    // Kept longer than its client keeps a connection (5 s): else a call is now and then sent as it is closed, and lost.
    const kept = { requestTimeout: 0, keepAliveTimeout: 75_000 };
    this.#server = createServer(kept, (request, response) => void this.#serve(request, response));
  }

  /** Resolves to the URL. */
  listen(): Promise<string> {
    return new Promise((resolve) => {
      this.#server.listen(0, "127.0.0.1", () =>
        resolve(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`),
      );
    });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #allowed(request: IncomingMessage): boolean {
    const given = Buffer.from(request.headers.authorization ?? "");
    return given.length === this.#expected.length && timingSafeEqual(given, this.#expected);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (!this.#allowed(request))
        return send(response, 401, { error: { code: 10000, message: "Authentication error" } });
      const [path = ""] = (request.url ?? "/").split("?");
      const parts = path.split("/").slice(1);
      const handler = this.#handler(`${request.method} /${parts[0]}`) ?? this.#storage(parts);
      if (handler === null)
        return send(response, 404, { error: { code: 7000, message: `no route for ${request.method} ${path}` } });
      await handler(request, response, parts);
    } catch (error) {
      this.#failed(response, error);
    }
  }

  #failed(response: ServerResponse, error: unknown): void {
    if (error instanceof WorldError || error instanceof CronError) {
      send(response, 422, { error: { code: error.code, message: error.message } });
      return;
    }
    log("error", "admin call failed", { reason: error instanceof Error ? error.stack : text(error) });
    send(response, 500, { error: { code: 10013, message: text(error) } });
  }

  #handler(route: string): Handler | null {
    switch (route) {
      case "GET /health":
        return async (_request, response) =>
          send(response, 200, {
            ok: true,
            generation: this.#stage.world.generation,
            workerd_pid: this.#stage.workerdPid,
          });
      case "PUT /world":
        return async (request, response) => {
          const applied = await this.#stage.apply(parseWorld(await readJson(request)));
          this.#schedule.set(this.#stage.world.workers.filter((worker) => worker.deployment !== null));
          send(response, 200, applied);
        };
      case "PUT /faults":
        return async (request, response) => {
          this.#faults.on = (await readJson(request)).s3 === true;
          send(response, 200, { s3: this.#faults.on });
        };
      case "POST /validate":
        return async (request, response) =>
          send(response, 200, await this.#stage.validate(parseVersion((await readJson(request)).version, "version")));
      case "POST /cron":
        return async (request, response) => {
          const { script, cron, scheduled_time } = await readJson(request);
          parseCron(String(cron));
          const time = scheduled_time === undefined ? new Date() : new Date(scheduled_time as string | number);
          send(response, 200, { outcome: await this.#stage.scheduled(String(script), String(cron), time) });
        };
      default:
        return null;
    }
  }

  /** `/kv/{ns}/values/{key}`, `/kv/{ns}/keys`, `/r2/{bucket}/objects[/{key}]`; the key may hold slashes, plain or encoded. */
  #storage(parts: string[]): Handler | null {
    const [kind, id, list, ...key] = parts;
    const wanted = kind === "kv" ? ["keys", "values"] : kind === "r2" ? ["objects"] : [];
    if (id === undefined || list === undefined || !wanted.includes(list)) return null;
    const name = key.join("/");
    if ((list === "values") !== (name !== "") && list !== "objects") return null;
    return async (request, response) => {
      const query = (request.url ?? "").split("?")[1];
      const key = name === "" ? [] : ["x-key", encodeURIComponent(decodeURIComponent(name))];
      const how = {
        upstream: () => ({ url: this.#stage.adminUrl, agent: this.#agent }),
        path: `/${kind}/${id}${query === undefined ? "" : `?${query}`}`,
        headers: [...this.#stage.credentials, ...key],
        drop: ["authorization", "expect", "x-key", SECRET_HEADER],
        bodyLimit: Number.POSITIVE_INFINITY,
        patienceMs: 5_000,
      };
      await this.#stage.undisturbed(() => forward(request, response, how));
    };
  }
}
