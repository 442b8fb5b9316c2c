import { expect, it } from "vitest";
import { PiecesOf } from "../../test/support/pieces.ts";
import { ChunkWriter } from "../chat/shapes.ts";
import { streamResponse } from "../chat/stream-body.ts";
import { ApiError } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";
import { newRecord } from "../record.ts";

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

/** A streamed answer that says one word and then fails with `error`; what the client read and the log tells of it. */
async function broken(
  error: unknown,
  settle = () => USAGE,
): Promise<{ text: string; logs: Record<string, unknown>[] }> {
  const logs: Record<string, unknown>[] = [];
  const ambient = { now: () => 0, log: (line: string) => void logs.push(JSON.parse(line) as Record<string, unknown>) };
  const record = newRecord("req-test-1", 0);
  const variables: Record<string, unknown> = {
    record,
    gateway: { ambient, config: { release: "r-1", timeouts: { client_ms: 60_000 } }, telemetry: { sentry: null } },
  };
  const c = { get: (name: string) => variables[name], env: {} } as unknown as GatewayContext;
  async function* pieces() {
    yield { choices: [{ index: 0, delta: { content: "one" }, finish_reason: null }], usage: null };
    throw error;
  }
  const name = { id: "a", created: 0, model: "chat@1", release: "r" };
  const served = { name, pieces: new PiecesOf(pieces()), abort: new AbortController(), settle };
  const response = streamResponse(c, served, new ChunkWriter(name, false));
  const text = await response.text().catch((failure: Error) => `failed: ${failure.name}`);
  await record.ended;
  return { text, logs };
}

it("an unforeseen failure in the middle of a stream is told to the log by its place, and ends it with an error event", async () => {
  const { text, logs } = await broken(new RangeError("secret inside"));
  expect(text).toContain('"content":"one"');
  expect(text).toMatch(/data: \{"error":\{[^\n]*"code":"internal_error"[^\n]*\}\n\n$/);
  expect(logs).toMatchObject([{ event: "exception", id: "req-test-1", release: "r-1", name: "RangeError" }]);
  expect(logs[0]?.frames).not.toEqual([]);
  expect(text + JSON.stringify(logs)).not.toContain("secret inside");
});

it("a failure of the model's in the middle of a stream is no exception", async () => {
  const { text, logs } = await broken(new ApiError(502, "upstream_broken", "The model's answer broke off."));
  expect(text).toContain("upstream_broken");
  expect(logs).toEqual([]);
});

it("a stream that fails even in its ending is logged, and its request ends", async () => {
  const { text, logs } = await broken(new ApiError(502, "upstream_broken", "It broke off."), () => {
    throw new RangeError("can't be settled");
  });
  expect(text).toBe("failed: RangeError");
  expect(logs).toMatchObject([{ event: "exception", name: "RangeError" }]);
});
