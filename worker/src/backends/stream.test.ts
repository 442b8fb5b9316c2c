import { expect, it } from "vitest";
import { sse, streamOf } from "../../test/support/fake-ai.ts";
import type { Call, Piece } from "./backend.ts";
import { readPiece } from "./openai-shapes.ts";
import { pieces } from "./stream.ts";

const encoder = new TextEncoder();
const says = (delta: object, reason: string | null = null, more: object = {}) =>
  JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason, ...more }] });
const ENDED = [says({}, "stop"), "[DONE]"];

/** The pieces of these events, all in one chunk of bytes. */
async function atOnce(events: string[]): Promise<{ pieces: Piece[]; fault: unknown }> {
  const bytes = encoder.encode(events.map((event) => `data: ${event}\n\n`).join(""));
  return read(streamOf([bytes]));
}

async function read(response: Response): Promise<{ pieces: Piece[]; fault: unknown }> {
  const call = { parameters: { max_tokens: 100 }, signal: new AbortController().signal } as unknown as Call;
  const found: Piece[] = [];
  try {
    for await (const piece of pieces(response.body as ReadableStream<Uint8Array>, call, readPiece)) found.push(piece);
    return { pieces: found, fault: null };
  } catch (fault) {
    return { pieces: found, fault };
  }
}

const deltas = (found: Piece[]) => found.map(({ choices }) => choices[0]?.delta);

it("joins words that came together, and gives each that came alone by itself", async () => {
  const words = [says({ role: "assistant", content: "" }), says({ content: "北" }), says({ content: "京" })];
  const together = await atOnce([...words, ...ENDED]);
  expect(deltas(together.pieces)).toEqual([{ role: "assistant", content: "北京" }, {}]);
  const apart = await read(sse([...words, ...ENDED]));
  expect(deltas(apart.pieces)).toEqual([{ role: "assistant", content: "" }, { content: "北" }, { content: "京" }, {}]);
});

it.each([
  ["another field", says({ reasoning_content: "b" })],
  ["another choice", JSON.stringify({ choices: [{ index: 1, delta: { content: "b" }, finish_reason: null }] })],
  ["log probabilities", says({ content: "b" }, null, { logprobs: { content: [] } })],
  ["a call", says({ tool_calls: [{ index: 0, function: { arguments: "b" } }] })],
  ["the reason to stop", says({ content: "b" }, "length")],
])("joins nothing to %s", async (_, other) => {
  const { pieces: found } = await atOnce([says({ content: "a" }), other, ...ENDED]);
  expect(found.length).toBe(3);
  expect(found[0]?.choices[0]?.delta).toEqual({ content: "a" });
});

it("gives what came before a broken event in the same bytes", async () => {
  const { pieces: found, fault } = await atOnce([says({ content: "a" }), says({ content: "b" }), "{broken"]);
  expect(deltas(found)).toEqual([{ content: "ab" }]);
  expect(fault).toMatchObject({ code: "upstream_broken" });
});
