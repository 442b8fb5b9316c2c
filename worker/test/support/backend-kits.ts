import type { Backend, Call, EmbedCall, Piece } from "../../src/backends/backend.ts";
import { OpenAi } from "../../src/backends/openai.ts";
import { WorkersAi } from "../../src/backends/workers-ai.ts";
import { type AiRun, FakeAi } from "./fake-ai.ts";
import { FakeOpenAi } from "./fake-openai.ts";

/** What every backend does alike, so that whoever calls one needn't know which. A new backend is one more kit. */
export interface Kit {
  readonly name: string;
  readonly version: Call["version"];
  readonly gateway: string | null;
  readonly backend: Backend;
  replyWith(reply: (run: AiRun) => Response | Promise<Response>): void;
  /** What the model's server was asked last. */
  asked(): AiRun;
  /** The answer of an embedding model. */
  vectors(vectors: number[][], tokens: number | null): Response;
  /** How this server refuses. */
  refusals: Record<Refusal, Response>;
}

export type Refusal = "bad" | "long" | "large" | "many" | "unknown" | "down" | "busy" | "slow";

export const later = { "retry-after": "7" };

function workersAi(): Kit {
  const ai = new FakeAi();
  const refused = (status: number, internalCode: number, headers: HeadersInit = {}) =>
    Response.json({ internalCode, description: "why", name: "AiError" }, { status, headers });
  return {
    name: "workers-ai",
    version: { backend: "workers-ai", id: "@cf/zai-org/glm-4.7-flash" },
    gateway: null,
    backend: new WorkersAi(ai),
    replyWith: (reply) => ai.replyWith(reply),
    asked: () => ai.lastRun,
    vectors: (data, tokens) => Response.json({ shape: [], data, ...(tokens !== null && usageOf(tokens)) }),
    refusals: {
      bad: refused(400, 5006),
      long: refused(413, 5021),
      large: refused(413, 3006),
      many: refused(429, 3039, later),
      unknown: refused(400, 5007),
      down: refused(500, 3043),
      busy: new Response("busy", { status: 503 }),
      slow: refused(408, 3007),
    },
  };
}

/** `gateway` null: by fetch. */
export function openAi(gateway: string | null): Kit {
  const server = new FakeOpenAi();
  const refused = (status: number, code: string | null, message: string, headers: HeadersInit = {}) =>
    Response.json({ error: { message, type: "x", param: null, code } }, { status, headers });
  return {
    name: gateway === null ? "openai by fetch" : "openai through AI Gateway",
    version: { backend: "openai", id: "kimi", base_url: "https://up.test/v1", provider: "custom-up/v1" },
    gateway,
    backend: new OpenAi(server),
    replyWith: (reply) => server.replyWith(reply),
    asked: () => server.last,
    vectors: (vectors, tokens) => {
      const data = vectors.map((embedding, index) => ({ object: "embedding", index, embedding }));
      return Response.json({ object: "list", data: data.reverse(), ...(tokens !== null && usageOf(tokens)) });
    },
    refusals: {
      bad: refused(400, "invalid_value", "why"),
      long: refused(400, null, "This model's maximum context length is 4096 tokens."),
      large: refused(413, null, "why"),
      many: refused(429, "rate_limit_exceeded", "why", later),
      unknown: refused(404, "model_not_found", "why"),
      down: refused(500, null, "why"),
      busy: new Response("busy", { status: 503 }),
      slow: new Response("", { status: 504 }),
    },
  };
}

function usageOf(tokens: number) {
  return { usage: { prompt_tokens: tokens, total_tokens: tokens } };
}

export const call = (kit: Kit, changes: Partial<Call> = {}): Call => ({
  version: kit.version,
  gateway: kit.gateway,
  messages: [{ role: "user", content: "Hi" }],
  parameters: { max_tokens: 100 },
  session: "s1",
  signal: new AbortController().signal,
  ...changes,
});

export const embedCall = (kit: Kit, changes: Partial<EmbedCall> = {}): EmbedCall => ({
  version: kit.version,
  gateway: kit.gateway,
  input: ["a", "b"],
  dimensions: null,
  signal: new AbortController().signal,
  ...changes,
});

export async function streamed(kit: Kit, changes: Partial<Call> = {}): Promise<Piece[]> {
  const pieces: Piece[] = [];
  for await (const piece of await kit.backend.stream(call(kit, changes))) pieces.push(piece);
  return pieces;
}

export const textOf = (pieces: Piece[]): string =>
  pieces.map(({ choices }) => choices[0]?.delta.content ?? "").join("");
export const choice = (fields: object, finish_reason: string | null = null) =>
  JSON.stringify({ choices: [{ index: 0, delta: {}, ...fields, finish_reason }] });

/** A kit for each way to a model. */
export const KITS: [name: string, make: () => Kit][] = [
  ["workers-ai", workersAi],
  ["openai by fetch", () => openAi(null)],
  ["openai through AI Gateway", () => openAi("gw")],
];
