// The model that every gateway of the measurement talks to: one process, the same bytes to each, no waiting.
// It answers as an OpenAI-compatible server, and as the far end of the AI binding (miniflare's proxy protocol).
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

const WORDS =
  "A sluice is a gate that lets water through, or holds it back, as the level on either side asks for it.".split(
    /(?<= )/,
  );
const USAGE = { prompt_tokens: 12, completion_tokens: WORDS.length, total_tokens: 12 + WORDS.length };
const HEAD = { id: "chatcmpl-stub", created: 1_700_000_000, model: "stub" };

const whole = JSON.stringify({
  ...HEAD,
  object: "chat.completion",
  choices: [
    { index: 0, message: { role: "assistant", content: WORDS.join("") }, logprobs: null, finish_reason: "stop" },
  ],
  usage: USAGE,
});
const event = (delta: object, reason: string | null = null) =>
  `data: ${JSON.stringify({ ...HEAD, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
const events = [
  event({ role: "assistant", content: "" }),
  ...WORDS.map((content) => event({ content })),
  event({}, "stop"),
  `data: ${JSON.stringify({ ...HEAD, object: "chat.completion.chunk", choices: [], usage: USAGE })}\n\n`,
  "data: [DONE]\n\n",
];

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  // The AI binding tries a WebSocket first and falls back to plain requests.
  if (request.method !== "POST") return void response.writeHead(400).end();
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as {
    stream?: boolean;
    inputs?: { stream?: boolean };
  };
  if ((body.inputs ?? body).stream !== true) {
    response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(whole) });
    return void response.end(whole);
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const item of events) response.write(item);
  response.end();
}

const server = createServer((request, response) => void serve(request, response));
server.keepAliveTimeout = 600_000;
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
process.on("disconnect", () => process.exit());
