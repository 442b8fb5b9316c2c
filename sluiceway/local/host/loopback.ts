/**
 * miniflare's helper server writes files where its caller says (`/core/store-temp-file`) and asks nobody who they are: any
 * web page open on the machine could post to it. The runtime speaks to it by names such as `localhost`; whoever came
 * over the network, a page or one whose name was bound anew to this address, says the port in its Host. Those are refused.
 */

import http, { type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { log } from "./log.ts";

const REQUESTS = new Set(["request", "upgrade", "checkContinue", "checkExpectation"]);

/** From now on every server that miniflare makes is guarded; our own import `createServer` by name and are not. */
export function guardLoopback(): void {
  const create = http.createServer as (...args: unknown[]) => Server;
  http.createServer = ((...args: unknown[]) => guarded(create(...args))) as typeof http.createServer;
}

export function guarded(server: Server): Server {
  const emit = server.emit.bind(server) as (name: string | symbol, ...args: unknown[]) => boolean;
  server.emit = (name: string | symbol, ...args: unknown[]): boolean => {
    if (!REQUESTS.has(String(name)) || !isStranger(args[0] as IncomingMessage, server)) return emit(name, ...args);
    const { socket, method } = args[0] as IncomingMessage;
    log("warn", "a stranger's call of miniflare's helper server was refused", { method });
    socket.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    return true;
  };
  return server;
}

function isStranger({ headers }: IncomingMessage, server: Server): boolean {
  const { port } = (server.address() ?? {}) as Partial<AddressInfo>;
  const { host = "", origin } = headers;
  return origin !== undefined || headers["sec-fetch-site"] !== undefined || host.endsWith(`:${port}`);
}
