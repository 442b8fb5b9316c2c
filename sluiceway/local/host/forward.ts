/** One request from a client to the runtime and its answer back, streaming both ways. */

import { type Agent, type ClientRequest, type IncomingMessage, request as open, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { passedOn } from "./headers.ts";
import { hearing } from "./hearing.ts";
import { log } from "./log.ts";

export interface Forwarding {
  readonly upstream: () => { readonly url: URL; readonly agent: Agent };
  readonly path: string;
  /** Added to the client's headers: names and values, flat. */
  readonly headers: readonly string[];
  readonly drop: readonly string[];
  /** Most bytes of a body; a larger one is answered with 413. */
  readonly bodyLimit: number;
  /** How long to try again while nothing listens, as when the runtime has crashed and is coming back. */
  readonly patienceMs: number;
  /** Called when the answer has come: true once the caller has got something in its place. */
  readonly instead?: () => Promise<boolean>;
}

const RETRY_MS = 50;

export function plain(response: ServerResponse, status: number, body: string, close = false): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const headers = {
    "content-type": "text/plain; charset=UTF-8",
    "content-length": String(Buffer.byteLength(body)),
    ...(close ? { connection: "close" } : {}),
  };
  response.writeHead(status, headers).end(body);
}

/** Resolves when the exchange is over, however it ended. */
export function forward(request: IncomingMessage, response: ServerResponse, how: Forwarding): Promise<void> {
  return new Promise((resolve) => new Exchange(request, response, how, resolve).start());
}

/** Whether a flat list of headers says how long the body is. */
function hasLength(headers: readonly string[]): boolean {
  return headers.some((name, at) => at % 2 === 0 && name.toLowerCase() === "content-length");
}

class Exchange {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #how: Forwarding;
  readonly #started = Date.now();
  #up: ClientRequest | null = null;
  #answered = false;
  /** Set once the whole answer is there, or one of ours was given: what still comes of the body is thrown away. */
  #ended = false;
  /** Set once a byte of the body may have gone up: from then on nothing can be sent again. */
  #spent = false;
  #received = 0;
  #over = false;
  readonly #done: () => void;

  constructor(request: IncomingMessage, response: ServerResponse, how: Forwarding, done: () => void) {
    this.#request = request;
    this.#response = response;
    this.#how = how;
    this.#done = done;
  }

  start(): void {
    const declared = Number(this.#request.headers["content-length"] ?? 0);
    if (declared > this.#how.bodyLimit) {
      plain(this.#response, 413, "Request body is too large for this plan (limit 100 MB)\n", true);
      this.#finish();
      return;
    }
    this.#response.on("close", () => {
      // Only a reset reaches a Worker that has not answered yet; after a plain close it would run on to its end.
      if (!this.#response.writableFinished) this.#reset();
      this.#finish();
    });
    this.#attempt();
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#done();
  }

  #reset(): void {
    const up = this.#up;
    if (up === null) return;
    if (up.socket !== null && !up.socket.destroyed) up.socket.resetAndDestroy();
    up.destroy();
  }

  #attempt(): void {
    if (this.#over) return;
    const { url, agent } = this.#how.upstream();
    const method = this.#request.method ?? "GET";
    const never = method === "GET" || method === "HEAD";
    const drop = never ? [...this.#how.drop, "content-length"] : this.#how.drop;
    const headers = [...passedOn(this.#request, drop), ...this.#how.headers];
    // Node frames a body by itself only for methods that usually have one. Without a frame the runtime would take the
    // body for the next request on the connection.
    if (!this.#bodyless() && !hasLength(headers)) headers.push("transfer-encoding", "chunked");
    const up = open({
      host: url.hostname,
      port: url.port,
      // A Worker may answer before it reads the body; what the runtime then does with the rest has been seen to spoil
      // the next request on that connection. So none follows one with a body.
      ...(this.#bodyless() ? { agent } : { createConnection: () => hearing(Number(url.port), url.hostname) }),
      method,
      path: this.#how.path,
      headers,
      setHost: false,
    });
    this.#up = up;
    up.on("socket", (socket) => this.#whenConnected(up, socket));
    up.on("response", (answer) => this.#answer(answer));
    up.on("error", (error: NodeJS.ErrnoException) => this.#failed(up, error));
  }

  #whenConnected(up: ClientRequest, socket: Socket): void {
    const begin = (): void => {
      if (up !== this.#up || this.#over) return;
      if (this.#bodyless()) {
        this.#request.resume();
        up.end();
      } else this.#sendBody(up);
    };
    if (socket.connecting) socket.once("connect", begin);
    else begin();
  }

  /** A body of a GET or HEAD, which the runtime's own requests can't have, is read and thrown away. */
  #bodyless(): boolean {
    const { headers, method } = this.#request;
    if (method === "GET" || method === "HEAD") return true;
    return headers["transfer-encoding"] === undefined && (headers["content-length"] ?? "0") === "0";
  }

  #sendBody(up: ClientRequest): void {
    this.#spent = true;
    const request = this.#request;
    request.on("data", (chunk: Buffer) => {
      this.#received += chunk.length;
      if (this.#ended) return;
      if (this.#received > this.#how.bodyLimit) return this.#tooLarge();
      if (up.write(chunk)) return;
      request.pause();
      up.once("drain", () => request.resume());
    });
    request.on("end", () => {
      if (!this.#ended) up.end();
    });
  }

  #tooLarge(): void {
    this.#ended = true;
    this.#request.pause();
    this.#reset();
    plain(this.#response, 413, "Request body is too large for this plan (limit 100 MB)\n", true);
    this.#answered = true;
  }

  #answer(answer: IncomingMessage): void {
    this.#answered = true;
    // As a Worker may answer before it has read the body: what still comes is read and thrown away.
    answer.on("end", () => {
      this.#ended = true;
      this.#request.resume();
      // What is left of the body stays unsent, so nothing else can go over that connection.
      if (this.#up?.writableFinished === false) this.#up.destroy();
    });
    answer.on("error", () => this.#response.destroy());
    answer.on("aborted", () => this.#response.destroy());
    if (this.#how.instead !== undefined) void this.#answerInstead(answer, this.#how.instead);
    else this.#pass(answer);
  }

  async #answerInstead(answer: IncomingMessage, instead: () => Promise<boolean>): Promise<void> {
    if (await instead()) answer.resume();
    else this.#pass(answer);
  }

  #pass(answer: IncomingMessage): void {
    this.#response.writeHead(answer.statusCode ?? 502, answer.statusMessage, passedOn(answer));
    // A first chunk that came along goes out in the same packet; else the head must not wait for one.
    setImmediate(() => this.#response.flushHeaders());
    answer.pipe(this.#response);
  }

  #failed(up: ClientRequest, error: NodeJS.ErrnoException): void {
    if (up !== this.#up || this.#over || this.#answered) return;
    // A pooled connection may have been closed by the other side just as it was taken: that request was never seen.
    const unseen = error.code === "ECONNREFUSED" || (error.code === "ECONNRESET" && up.reusedSocket);
    if (unseen && !this.#spent && Date.now() - this.#started < this.#how.patienceMs) {
      setTimeout(() => this.#attempt(), error.code === "ECONNREFUSED" ? RETRY_MS : 0);
      return;
    }
    log("warn", "request failed in the runtime", {
      method: this.#request.method,
      path: this.#how.path,
      reason: error.message,
    });
    plain(this.#response, 502, "error code: 502\nThe local runtime ended the connection before it answered.\n", true);
  }
}
