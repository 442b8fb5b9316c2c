// Cloudflare's API as far as `wrangler tail` asks it: makes a tail, and tells one document over its WebSocket.
import { createHash } from "node:crypto";
import { createServer } from "node:http";

const [, , document] = process.argv;

const server = createServer((request, response) => {
  const { port } = server.address();
  const result =
    request.method === "POST"
      ? { id: "tail-1", url: `ws://127.0.0.1:${port}/tail`, expires_at: new Date(Date.now() + 3.6e6).toISOString() }
      : null;
  const refused = request.headers.authorization !== "Bearer good-token";
  response.writeHead(refused ? 403 : 200, { "content-type": "application/json" });
  const errors = refused ? [{ code: 10000, message: "Authentication error" }] : [];
  response.end(JSON.stringify({ success: !refused, result: refused ? null : result, errors, messages: [] }));
});

// By hand: wrangler doesn't mask its frames, which libraries refuse and Cloudflare takes.
server.on("upgrade", (request, socket) => {
  const key = `${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
  const accept = createHash("sha1").update(key).digest("base64");
  socket.on("error", () => {});
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: trace-v1\r\n\r\n`,
  );
  // The first message is wrangler's wish for filters.
  socket.once("data", () => socket.write(frame(document)));
});

function frame(text) {
  const payload = Buffer.from(text);
  const head = Buffer.alloc(4);
  head.writeUInt8(0x81, 0);
  head.writeUInt8(126, 1);
  head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}

server.listen(0, "127.0.0.1", () => console.log(`port ${server.address().port}`));
