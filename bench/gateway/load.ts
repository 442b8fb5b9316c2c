import { connect, type Socket } from "node:net";

/** What one request took, in milliseconds: to the first byte of its body, and to its end. */
export interface Took {
  first: number;
  total: number;
}

export interface Target {
  name: string;
  port: number;
  path: string;
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

/**
 * Sends `count` requests over `connections` connections, each of which asks again as soon as it was answered.
 * Throws when an answer isn't a 200, or not what the upstream said.
 */
export async function load(target: Target, stream: boolean, connections: number, count: number): Promise<Took[]> {
  const request = requestBytes(target, stream);
  const took: Took[] = [];
  let left = count;
  const one = async () => {
    const socket = await open(target.port);
    try {
      while (left-- > 0) took.push(await ask(socket, request, stream));
    } finally {
      socket.destroy();
    }
  };
  await Promise.all(Array.from({ length: connections }, one));
  return took;
}

function requestBytes(target: Target, stream: boolean): Buffer {
  const body = JSON.stringify({ ...target.body, ...(stream && { stream: true }) });
  const headers = {
    host: `127.0.0.1:${target.port}`,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    ...target.headers,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return Buffer.from(`POST ${target.path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`);
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => resolve(socket.setNoDelay(true)));
    socket.once("error", reject);
  });
}

/** One request and its whole answer, parsed no further than its end: the client must not be what is measured. */
function ask(socket: Socket, request: Buffer, stream: boolean): Promise<Took> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    let text = "";
    let first = 0;
    const finish = (error: Error | null, took?: Took) => {
      clearTimeout(timer);
      socket.off("data", hear).off("close", lost).off("error", lost);
      if (error === null && took !== undefined) resolve(took);
      else reject(error);
    };
    const hear = (chunk: Buffer) => {
      text += chunk.toString("latin1");
      const body = text.indexOf("\r\n\r\n");
      if (body === -1) return;
      if (first === 0 && text.length > body + 4) first = performance.now() - started;
      if (!isWhole(text, body)) return;
      const fault = faultOf(text, stream);
      finish(fault, { first, total: performance.now() - started });
    };
    const lost = () => finish(new Error("the connection was closed"));
    const timer = setTimeout(() => finish(new Error(`no answer in 30 s, only: ${text.slice(0, 300)}`)), 30_000);
    socket.on("data", hear).on("close", lost).on("error", lost);
    socket.write(request);
  });
}

function isWhole(text: string, body: number): boolean {
  const length = /\r\ncontent-length: (\d+)/i.exec(text.slice(0, body));
  if (length !== null) return text.length - body - 4 >= Number(length[1]);
  return text.endsWith("0\r\n\r\n");
}

function faultOf(text: string, stream: boolean): Error | null {
  if (!text.startsWith("HTTP/1.1 200 ")) return new Error(`not a 200: ${text.slice(0, 600)}`);
  if (!text.includes(stream ? "[DONE]" : "as the level on either side")) return new Error(`not the answer: ${text}`);
  return null;
}
