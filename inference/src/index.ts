/**
 * Small ONNX models beside the gateway, reached by its service binding alone: no route and no name of its own.
 * It is a Worker apart since onnxruntime is 3.7 MB gzipped, which no request to a language model should have to carry.
 */

import { partsOf } from "./artifact.ts";
import { embed } from "./embed.ts";
import { InferenceError, textOf } from "./errors.ts";
import { Models } from "./models.ts";
import { heapBytes, open } from "./ort.ts";
import { readEmbed } from "./request.ts";
import { Turn } from "./turn.ts";

interface Env {
  readonly MODELS: R2Bucket;
}

/** Requests that are here at once. */
const WAITING = 64;

const turn = new Turn(WAITING);
let models: Models | null = null;

async function serve(request: Request, env: Env): Promise<Response> {
  models ??= new Models(env.MODELS, { open, heapBytes });
  const { pathname } = new URL(request.url);
  if (request.method === "GET" && pathname === "/health")
    return Response.json({ ok: true, models: models.count, heap_bytes: heapBytes(), waiting: turn.waiting });
  if (request.method !== "POST" || pathname !== "/embed")
    throw new InferenceError(404, "not_found", `there is no ${request.method} ${pathname}`);
  const { files, texts, max_tokens } = readEmbed(await request.text());
  const loaded = models;
  const { vectors, ...counts } = await turn.take(async () =>
    embed(await loaded.get(partsOf(files)), texts, max_tokens),
  );
  return Response.json({ vectors: vectors.map((vector) => Array.from(vector)), ...counts });
}

export default {
  async fetch(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
    try {
      const serving = serve(request, env);
      // A client that leaves must not take along what it was doing in its turn: the next would wait for it.
      ctx.waitUntil(serving.catch(() => undefined));
      return await serving;
    } catch (error) {
      const fault = error instanceof InferenceError ? error : new InferenceError(500, "internal_error", textOf(error));
      // The gateway words the two for its client; of anything else the client hears no cause, so it stands here.
      if (fault.status !== 413 && fault.status !== 429)
        console.error(JSON.stringify({ event: "inference_failed", code: fault.code, fault: fault.message }));
      return fault.response();
    }
  },
};
