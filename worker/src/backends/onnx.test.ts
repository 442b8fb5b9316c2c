import { describe, expect, it } from "vitest";
import type { ModelVersion } from "../config.ts";
import type { EmbedCall } from "./backend.ts";
import { Onnx } from "./onnx.ts";

const files = [{ name: "model.onnx", key: "models/words/1/x/model.onnx", sha256: "0".repeat(64), bytes: 9 }];
const version = { backend: "onnx", artifact: { files } } as unknown as ModelVersion;

/** What the inference Worker (inference/src) answers, and what it was asked. */
function inference(status: number, body: unknown): { backend: Onnx; asked: unknown[] } {
  const asked: unknown[] = [];
  const fetcher = {
    fetch: async (_: string, init: RequestInit) => {
      asked.push(JSON.parse(String(init.body)));
      return typeof body === "string" ? new Response(body, { status }) : Response.json(body, { status });
    },
  };
  return { backend: new Onnx(fetcher as unknown as Fetcher), asked };
}

function call(change: Partial<EmbedCall> = {}): EmbedCall {
  const signal = new AbortController().signal;
  return { version, input: ["a", "b"], dimensions: null, gateway: null, signal, ...change };
}

describe("the onnx backend", () => {
  it("sends the version's files with the texts, and gives the vectors with the tokens read", async () => {
    const { backend, asked } = inference(200, { vectors: [[1, 0], [0, 1]], tokens: 6 }); // biome-ignore format: two short vectors
    const usage = { prompt_tokens: 6, completion_tokens: 0, total_tokens: 6 };
    expect(await backend.embed(call())).toEqual({ vectors: [[1, 0], [0, 1]], usage }); // biome-ignore format: as above
    expect(asked).toEqual([{ files, texts: ["a", "b"], max_tokens: 256 }]);
    await backend.embed(call({ version: { ...version, context_window: 512 } }));
    expect(asked[1]).toMatchObject({ max_tokens: 512 });
  });

  it.each([
    [413, { error: { code: "text_too_long", message: "Text 1 has more." } }, 400, "context_length_exceeded", false],
    [429, { error: { code: "busy", message: "64 requests wait already" } }, 429, "upstream_rate_limited", false],
    [
      404,
      { error: { code: "artifact_not_found", message: "models/x has not been published" } },
      502,
      "upstream_refused",
      true,
    ],
    [422, { error: { code: "artifact_damaged", message: "its sha256 is 1" } }, 502, "upstream_refused", true],
    [500, { error: { code: "run_failed", message: "why" } }, 502, "upstream_refused", false],
    [200, { vectors: [[1]], tokens: 1 }, 502, "upstream_broken", false],
    [502, "<html>", 502, "upstream_unreachable", false],
  ])("an answer of %i %j is a failure that says what to do", async (status, body, ours, code, lasting) => {
    const thrown = await inference(status, body)
      .backend.embed(call())
      .catch((error: unknown) => error);
    expect(thrown).toMatchObject({ status: ours, code, lasting });
    // Keys of files are the operator's business, and go to the log alone.
    expect(String(thrown)).not.toContain("models/x");
  });

  it("takes texts alone, and makes no answers to chats", async () => {
    const { backend, asked } = inference(200, {});
    await expect(backend.embed(call({ input: [[1, 2]] }))).rejects.toMatchObject({ status: 400, param: "input" });
    await expect(backend.complete()).rejects.toMatchObject({ status: 501 });
    expect(asked).toEqual([]);
  });
});
