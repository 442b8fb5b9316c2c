import { createExecutionContext, env, waitOnExecutionContext } from "cloudflare:test";
import type { GatewayEnv } from "../../src/env.ts";
import type { Ambient } from "../../src/gateway.ts";
import { createGateway } from "../../src/index.ts";
import { FakeAi } from "./fake-ai.ts";

type Json = Record<string, unknown>;

export const KEY = "test-key";

/** A stage's config with two chat versions and an onnx model; `changes` replace whole top-level fields. */
export function stageConfig(changes: Json = {}): Json {
  const sha256 = "ab".repeat(32);
  const file = { name: "model.onnx", key: `models/intent/1/${sha256}/model.onnx`, sha256, bytes: 9 };
  return {
    stage: "test",
    release: "r-0123456789ab",
    worker: "sluiceway-test",
    models: {
      chat: {
        task: "chat",
        default: true,
        versions: {
          "1": { backend: "workers-ai", id: "@cf/zai-org/glm-4.7-flash", parameters: { max_tokens: 1024 } },
          "2": { backend: "workers-ai", id: "@cf/moonshotai/kimi-k2.6", prompt: "You are version two." },
        },
        split: [
          [1, 90],
          [2, 10],
        ],
      },
      intent: {
        task: "classify",
        versions: { "1": { backend: "onnx", artifact: { files: [file] } } },
        split: [[1, 100]],
      },
    },
    gateway: null,
    cors: { origins: ["http://localhost:3000"], max_age: 600 },
    limits: { body_bytes: 1_048_576, requests: 5, period: 60 },
    cache: { enabled: true, ttl: 300 },
    auth: { required: true },
    log: { prompts: false },
    ...changes,
  };
}

export interface Asked {
  path?: string;
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** One gateway with its bindings, its clock and what it logged; every stage of a test file is its own isolate's worth. */
export class Stage {
  readonly ai = new FakeAi();
  readonly logs: Json[] = [];
  readonly points: AnalyticsEngineDataPoint[] = [];
  readonly env: GatewayEnv;
  /** Milliseconds that the clock is ahead. */
  ahead = 0;
  /** What chance gives, in `[0, 1)`. */
  chance: () => number = () => 0.5;
  readonly #handler: ExportedHandler<GatewayEnv>;

  constructor(changes: Json = {}, bindings: Partial<GatewayEnv> = {}) {
    let ids = 0;
    const ambient: Ambient = {
      now: () => Date.now() + this.ahead,
      newId: () => `req-test-${++ids}`,
      random: () => this.chance(),
      log: (line) => this.logs.push(JSON.parse(line) as Json),
      // `ask` waits for all that a request left running: nothing of it may wait for more to do.
      linger: async () => {},
    };
    this.#handler = createGateway(JSON.stringify(stageConfig(changes)), ambient);
    this.env = {
      ...(env as unknown as GatewayEnv),
      AI: this.ai as unknown as Ai,
      // The platform's own limiter is tested by itself: here it must not count one test's requests against another's.
      RATE_LIMIT: { limit: async () => ({ success: true }) },
      METRICS: { writeDataPoint: (point) => void this.points.push(point ?? {}) },
      ...bindings,
    };
  }

  /** Sends a request and waits for what it left running. A streamed body is read first. */
  async ask(asked: Asked): Promise<Response> {
    const ctx = createExecutionContext();
    const response = await this.send(asked, ctx);
    const body = response.body === null ? null : await response.arrayBuffer();
    await waitOnExecutionContext(ctx);
    return new Response(body, response);
  }

  /** Sends a request and gives its answer as it comes. */
  async send(asked: Asked, ctx: ExecutionContext = createExecutionContext()): Promise<Response> {
    return this.fetch(request(asked), ctx);
  }

  async fetch(request: Request, ctx: ExecutionContext = createExecutionContext()): Promise<Response> {
    const fetch = this.#handler.fetch;
    if (fetch === undefined) throw new Error("the gateway handles no requests");
    return fetch(request as Parameters<typeof fetch>[0], this.env, ctx);
  }

  /** Asks for a chat completion; the version is pinned unless the body says otherwise. */
  async chat(body: Json = {}, headers: Record<string, string> = {}): Promise<Response> {
    return this.ask({ path: "/v1/chat/completions", body: chatBody(body), headers });
  }

  get requestLogs(): Json[] {
    return this.logs.filter((line) => line.event === "request");
  }
}

export function chatBody(changes: Json = {}): Json {
  return { model: "chat@1", messages: [{ role: "user", content: "Hi" }], ...changes };
}

export function request({ path = "/", method, body, headers = {}, signal }: Asked): Request {
  const sent = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  return new Request(`https://gateway.test${path}`, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: { authorization: `Bearer ${KEY}`, ...headers },
    ...(sent !== undefined && { body: sent }),
    ...(signal !== undefined && { signal }),
  });
}

/** The events of a server-sent stream, parsed, `[DONE]` as it is. */
export async function eventsOf(response: Response): Promise<Json[]> {
  const lines = (await response.text()).split("\n\n").filter((event) => event !== "");
  return lines.map((line) => {
    const data = line.replace(/^data: /, "");
    return data === "[DONE]" ? { done: true } : (JSON.parse(data) as Json);
  });
}

type Chunk = { choices: { delta: { content?: string; role?: string }; finish_reason: string | null }[] };

/** The text that a list of stream events says. */
export function textOfEvents(events: Json[]): string {
  return events
    .flatMap((event) => (event as unknown as Chunk).choices ?? [])
    .reduce((text, { delta }) => text + (delta.content ?? ""), "");
}

export async function errorOf(
  response: Response,
): Promise<{ message: string; type: string; param: string | null; code: string; request_id: string }> {
  return ((await response.json()) as { error: never }).error;
}
