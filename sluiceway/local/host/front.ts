/** The public port. Holds requests over reloads, passes the S3 paths on, upgrades WebSockets. */

import {
  Agent,
  createServer,
  type IncomingMessage,
  request as open,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { forward, plain } from "./forward.ts";
import { Gate } from "./gate.ts";
import { passedOn, steering } from "./headers.ts";
import { CLIENT_IP_HEADER } from "./inside/table.ts";
import { log, text } from "./log.ts";
import { meet, type S3Faults } from "./s3_faults.ts";

export interface Upstreams {
  /** Of the router's public socket, and of miniflare's own entry, which has the S3 service. */
  readonly router: URL;
  readonly entry: URL;
}

const S3_PREFIX = "/cdn-cgi/local/r2/s3";
const PATIENCE_MS = 5_000;

function clientAddress(socket: Socket): string {
  return (socket.remoteAddress ?? "127.0.0.1").replace(/^::ffff:/, "");
}

/** Node lets several pass; the runtime fails at them, as at a target that is a whole URL or `*`. */
function hasOneHost({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host").length === 1;
}

export class Front {
  readonly #server: Server;
  readonly #gate = new Gate();
  readonly #bodyLimit: number;
  readonly #faults: S3Faults;
  #agent = new Agent({ keepAlive: true });
  #upstreams: Upstreams | null = null;

  constructor(bodyLimit: number, faults: S3Faults) {
    this.#bodyLimit = bodyLimit;
    this.#faults = faults;
    // Uploads and streams may take as long as they like.
    this.#server = createServer({ requestTimeout: 0, keepAliveTimeout: 65_000 });
    this.#server.on("request", (request, response) => void this.#serve(request, response));
    this.#server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
      response.writeContinue();
      void this.#serve(request, response);
    });
    this.#server.on(
      "upgrade",
      (request: IncomingMessage, socket: Duplex, head: Buffer) => void this.#upgrade(request, socket, head),
    );
  }

  /** Resolves to the port. Rejects with EADDRINUSE if it is taken. */
  listen(port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, "127.0.0.1", () => {
        this.#server.off("error", reject);
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  /** Runs `change` while requests wait at the door; those in flight get `drainMs` to end first. */
  async hold<T>(drainMs: number, change: () => Promise<T>): Promise<T> {
    const left = await this.#gate.close(drainMs);
    if (left > 0) log("warn", "requests are cut by a reload", { count: left, drain_ms: drainMs });
    try {
      return await change();
    } finally {
      this.#gate.open();
    }
  }

  /** Runs `work` when no reload is on, and makes the next one wait for it. */
  async pass(work: () => Promise<void>): Promise<void> {
    const leave = await this.#gate.enter();
    try {
      await work();
    } finally {
      leave();
    }
  }

  /** Where requests go from now on; pooled connections to the old place are dropped. */
  point(upstreams: Upstreams): void {
    this.#upstreams = upstreams;
    this.#agent.destroy();
    this.#agent = new Agent({ keepAlive: true });
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.pass(() => this.#forward(request, response));
    } catch (error) {
      log("error", "front failed", { reason: text(error) });
      plain(response, 500, "error code: 500\n");
    }
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#upstreams === null) return plain(response, 503, "The local runtime has not started.\n");
    const path = request.url ?? "/";
    if (!path.startsWith("/") || !hasOneHost(request)) return plain(response, 400, "Bad Request\n", true);
    const s3 = path === S3_PREFIX || path.startsWith(`${S3_PREFIX}/`) || path.startsWith(`${S3_PREFIX}?`);
    const [, below = ""] = s3 ? (path.split("?")[0] ?? "").split(S3_PREFIX) : [];
    const met = s3 ? await this.#faults.ask(request.method ?? "GET", below) : null;
    if (met !== null && !met.after) {
      await setTimeout(met.delay_ms);
      if (meet(met, request, response)) return;
    }
    await forward(request, response, {
      upstream: () => ({
        url: s3 ? (this.#upstreams as Upstreams).entry : (this.#upstreams as Upstreams).router,
        agent: this.#agent,
      }),
      path,
      headers: s3 ? [] : [CLIENT_IP_HEADER, clientAddress(request.socket)],
      drop: ["expect", CLIENT_IP_HEADER, ...(s3 ? steering(request) : [])],
      bodyLimit: s3 ? Number.POSITIVE_INFINITY : this.#bodyLimit,
      patienceMs: PATIENCE_MS,
      ...(met?.after
        ? {
            instead: async () => {
              await setTimeout(met.delay_ms);
              return meet(met, request, response);
            },
          }
        : {}),
    });
  }

  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const leave = await this.#gate.enter();
    socket.on("close", leave);
    socket.on("error", () => socket.destroy());
    if (this.#upstreams === null || socket.destroyed) return void socket.destroy();
    const { hostname, port } = this.#upstreams.router;
    const ip = clientAddress(request.socket);
    const headers = [
      ...passedOn(request, [CLIENT_IP_HEADER]),
      "connection",
      "Upgrade",
      "upgrade",
      request.headers.upgrade ?? "",
      CLIENT_IP_HEADER,
      ip,
    ];
    const up = open({ host: hostname, port, method: request.method, path: request.url, headers, setHost: false });
    up.on("upgrade", (answer, upstream, first) => {
      // It may stay open for days: a reload cuts it at once instead of waiting for it.
      leave();
      writeHead(socket, answer, ["connection", "Upgrade", "upgrade", answer.headers.upgrade ?? ""]);
      join(socket, upstream, head, first);
    });
    up.on("response", (answer) => {
      writeHead(socket, answer, ["connection", "close"]);
      answer.pipe(socket);
    });
    up.on("error", () => socket.destroy());
    up.end();
  }
}

function writeHead(socket: Duplex, answer: IncomingMessage, more: readonly string[]): void {
  const pairs = [...passedOn(answer), ...more];
  const lines = [`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage ?? ""}`];
  for (let at = 0; at < pairs.length; at += 2) lines.push(`${pairs[at]}: ${pairs[at + 1]}`);
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
}

function join(client: Duplex, upstream: Duplex, fromClient: Buffer, fromUpstream: Buffer): void {
  if (fromUpstream.length > 0) client.write(fromUpstream);
  if (fromClient.length > 0) upstream.write(fromClient);
  upstream.on("error", () => client.destroy());
  client.on("close", () => upstream.destroy());
  upstream.on("close", () => client.destroy());
  client.pipe(upstream);
  upstream.pipe(client);
}
