import { once } from "node:events";
import { Agent, createServer, type IncomingMessage, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Worker } from "node:worker_threads";
import { afterEach, describe, expect, it } from "vitest";
import { forward } from "../forward.ts";

/** A runtime that answers at the first bytes of a body and closes with the rest unread, in a thread of its own. */
const HASTY = `
const { createServer } = require("node:net");
const { parentPort, workerData } = require("node:worker_threads");
const server = createServer((socket) => {
  socket.on("error", () => {});
  socket.once("data", () => {
    socket.pause();
    socket.write(workerData.answer, () => socket.resetAndDestroy());
  });
});
server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;
const REFUSED = "HTTP/1.1 413 Payload Too Large\r\ncontent-length: 9\r\n\r\ntoo large";
const LARGE = Buffer.alloc(1_500_000, "x");

const open: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function hasty(answer: string): Promise<URL> {
  const worker = new Worker(HASTY, { eval: true, workerData: { answer } });
  open.push(() => worker.terminate());
  const [port] = await once(worker, "message");
  return new URL(`http://127.0.0.1:${port}`);
}

/** Keeps the loop for a while after each of a body's first chunks, as a busy machine does: nobody polls in between. */
function hold(incoming: IncomingMessage): void {
  let left = 8;
  const pause = (): void => {
    if (left-- > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  };
  incoming.on("newListener", (name) => {
    // A listener of ours may neither be the first, which would start the flow, nor come after the first chunk.
    if (name === "data" && incoming.listenerCount("data") === 0) process.nextTick(() => incoming.on("data", pause));
  });
}

async function front(upstream: URL, busy = false): Promise<number> {
  const agent = new Agent({ keepAlive: true });
  const server: Server = createServer((incoming, response) => {
    const how = { upstream: () => ({ url: upstream, agent }), path: incoming.url ?? "/", headers: [], drop: [] };
    if (busy) hold(incoming);
    void forward(incoming, response, { ...how, bodyLimit: 100_000_000, patienceMs: 100 });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  open.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  return (server.address() as AddressInfo).port;
}

/** Sends a body in chunks, whatever comes back meanwhile. */
async function send(port: number, body: Buffer): Promise<{ status: number; text: string }> {
  const headers = { "transfer-encoding": "chunked" };
  const up = request({ port, host: "127.0.0.1", method: "OPTIONS", path: "/", headers, agent: false });
  const answered = once(up, "response");
  // Once answered, whether the rest of the body is taken is nothing to it.
  up.on("error", () => {});
  for (let at = 0; at < body.length; at += 7_000) up.write(body.subarray(at, at + 7_000));
  up.end();
  const [answer] = await answered;
  let text = "";
  for await (const part of answer) text += part;
  return { status: answer.statusCode ?? 0, text };
}

describe("an answer given before the body was read", () => {
  it("reaches its client though the connection was reset before anybody looked", async () => {
    const port = await front(await hasty(REFUSED), true);
    expect(await send(port, LARGE)).toEqual({ status: 413, text: "too large" });
  });

  it("reaches its client when there is time", async () => {
    const port = await front(await hasty(REFUSED));
    expect(await send(port, LARGE)).toEqual({ status: 413, text: "too large" });
  });
});

describe.each([true, false])("a connection that is reset (nobody looking: %s)", (busy) => {
  it("without an answer is told as a 502", async () => {
    const port = await front(await hasty(""), busy);
    const { status, text } = await send(port, LARGE);
    expect(status).toBe(502);
    expect(text).toContain("ended the connection before it answered");
  });

  it("within its answer's head is told as a 502", async () => {
    const port = await front(await hasty("HTTP/1.1 413 Payl"), busy);
    expect((await send(port, LARGE)).status).toBe(502);
  });
});
