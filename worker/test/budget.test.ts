import { request, type ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AiServer, type BundledStage, startBundled } from "./bundled-stage.ts";

/** Four words of a thousandth of a dollar each, and a prompt of seven millionths; what the cheap model asks is a tenth. */
const EACH = 0.004007;
const USAGE = { prompt_tokens: 7, completion_tokens: 4, total_tokens: 11 };
const WORDS = ["one ", "two ", "three ", "four"];
const CALLS = 102;
const NANOS = 1e9;

/** What a client does, and what becomes of its call. */
const KINDS = ["whole", "streamed", "leaves", "leaves-early", "falls-back", "fails"] as const;
type Kind = (typeof KINDS)[number];

/** What to do when the model is asked this. */
const whenAsked = new Map<string, () => void>();
let questions = 0;

const config = (calls: number) => ({
  stage: "budgets",
  release: "r-0123456789ab",
  worker: "sluiceway-test",
  models: {
    chat: { ...model("@cf/a/large", { input: 1, output: 1_000 }), fallback: ["chat-small"] },
    "chat-small": model("@cf/a/small", { input: 0.1, output: 100 }),
  },
  gateway: null,
  cors: { origins: [], max_age: 0 },
  limits: { body_bytes: 1_048_576, requests: 1000, period: 60 },
  cache: { enabled: false, ttl: 0 },
  auth: { required: true },
  resilience: { attempts: 1, breaker: { failures: 10_000 } },
  budgets: { limits: [{ scope: "key", period: "day", usd: calls * EACH }] },
  log: { prompts: false },
});
const model = (id: string, price: object) => ({
  ...{ task: "chat", versions: { "1": { backend: "workers-ai", id, price } }, split: [[1, 100]] },
});

function reply(response: ServerResponse, asked: { inputs: Record<string, unknown>; headers: object }): void {
  const { messages, stream } = asked.inputs as { messages: { content: string }[]; stream?: boolean };
  const question = messages[0]?.content ?? "";
  const kind = question.split(" ")[0] as Kind;
  whenAsked.get(question)?.();
  const large = (asked.headers as Record<string, string>)["mf-header-cf-consn-model-id"] === "@cf/a/large";
  if (kind === "fails" || (kind === "falls-back" && large)) return void response.writeHead(500).end("broken");
  if (kind === "leaves-early") return;
  if (stream !== true) {
    const choices = [{ index: 0, message: { role: "assistant", content: WORDS.join("") }, finish_reason: "stop" }];
    const body = JSON.stringify({ choices, usage: USAGE });
    return void response.writeHead(200, { "content-type": "application/json" }).end(body);
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const said = kind === "leaves" ? WORDS.slice(0, 1) : WORDS;
  for (const word of said) response.write(`data: ${JSON.stringify({ response: word })}\n\n`);
  if (kind === "streamed") response.end(`data: ${JSON.stringify({ response: "", usage: USAGE })}\n\ndata: [DONE]\n\n`);
}

/** One client over a connection of its own; the status that it saw, 0 when it left before any. */
function call(url: URL, kind: Kind): Promise<number> {
  const stream = kind === "streamed" || kind === "leaves";
  return new Promise((resolve, reject) => {
    const asked = request(new URL("/v1/chat/completions", url), {
      ...{ method: "POST", agent: false, headers: { authorization: "Bearer test-key" } },
    });
    // By a reset: without one, TCP tells the server no difference between a client that left and one that listens.
    const leave = () => void asked.socket?.resetAndDestroy();
    asked.on("error", (error) => (kind === "leaves-early" ? resolve(0) : reject(error)));
    asked.on("response", (response) => {
      const status = response.statusCode ?? 0;
      if (kind === "leaves" && status === 200) response.once("data", leave);
      response.resume().on("error", () => {});
      response.on("close", () => resolve(status));
    });
    const question = `${kind} ${++questions}`;
    if (kind === "leaves-early") whenAsked.set(question, leave);
    const messages = [{ role: "user", content: question }];
    asked.end(JSON.stringify({ model: "chat", messages, max_tokens: 4, stream }));
  });
}

describe.each([
  ["for ten", 10.4],
  ["in plenty", 100_000],
])("gw_16 a hundred parallel calls over real connections with budget %s", (_, calls) => {
  const ai = new AiServer();
  let stage: BundledStage;

  beforeAll(async () => {
    ai.reply = reply;
    stage = await startBundled(config(calls), await ai.start());
  });
  afterAll(async () => {
    await stage.mf.dispose();
    await ai.stop();
  });

  /** The log's lines of requests for answers. */
  const requests = () =>
    stage.lines
      .filter((line) => line.startsWith('{"event":"request"') && line.includes("/v1/chat/completions"))
      .map((line) => JSON.parse(line) as { cost_usd: number | null; status: number });
  const settled = () => requests().reduce((sum, { cost_usd }) => sum + Math.round((cost_usd ?? 0) * NANOS), 0);
  const booked = async () => {
    const headers = { authorization: "Bearer test-admin-key-0123456789" };
    const response = await fetch(new URL("/_sluiceway/spend", stage.url), { headers });
    expect(response.status).toBe(200);
    return Math.round(((await response.json()) as { month: { usd: number } }).month.usd * NANOS);
  };

  it("spends no more than it, and books what was settled, also for clients that left", async () => {
    const kinds = Array.from({ length: CALLS }, (_, at) => KINDS[at % KINDS.length] as Kind);
    const statuses = await Promise.all(kinds.map((kind) => call(stage.url, kind)));
    await expect.poll(() => requests().length, { timeout: 20_000 }).toBe(CALLS);
    expect(settled()).toBeGreaterThan(0);
    expect(settled()).toBeLessThanOrEqual(Math.min(calls + 1, CALLS) * EACH * NANOS);
    await expect.poll(booked, { timeout: 10_000 }).toBe(settled());
    const seen = (kind: Kind) => [...new Set(statuses.filter((_, at) => kinds[at] === kind))];
    if (calls < CALLS) expect(statuses).toContain(402);
    else expect(KINDS.map(seen)).toEqual([[200], [200], [200], [0], [200], [502]]);
    // Nothing stays held: what was not spent is there for the next.
    const left = Math.floor((calls * EACH * NANOS - settled()) / (EACH * NANOS));
    if (left > 0) await expect.poll(() => call(stage.url, "whole"), { timeout: 5_000 }).toBe(200);
  }, 60_000);
});
