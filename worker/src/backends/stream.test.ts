import { expect, it } from "vitest";
import { sse, streamOf } from "../../test/support/fake-ai.ts";
import type { Call, Piece } from "./backend.ts";
import { readPiece } from "./openai-shapes.ts";
import { PieceStream } from "./stream.ts";

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
    const pieces = new PieceStream(response.body as ReadableStream<Uint8Array>, call, readPiece);
    for await (const piece of pieces) found.push(piece);
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

const never = () => new Promise<never>(() => {});
const over = (body: ReadableStream<Uint8Array>, signal = new AbortController().signal) =>
  new PieceStream(body, { parameters: { max_tokens: 100 }, signal } as unknown as Call, readPiece);
const bytesOf = (...events: string[]) => encoder.encode(events.map((event) => `data: ${event}\n\n`).join(""));

it("cancels the body when its reader leaves", async () => {
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(bytesOf(says({ content: "x" }))),
    cancel: () => {
      cancelled = true;
    },
  });
  for await (const { choices } of over(body)) {
    expect(choices[0]?.delta).toEqual({ content: "x" });
    break;
  }
  expect(cancelled).toBe(true);
});

it("ends a wait for a silent body when it is aborted, and one that begins later", async () => {
  const abort = new AbortController();
  const stream = over(new ReadableStream<Uint8Array>({ pull: never }), abort.signal);
  const next = stream.next(true);
  abort.abort(new Error("client left"));
  await expect(next).rejects.toThrow("client left");
  await expect(stream.next(true)).rejects.toThrow("client left");
});

/** A body of these chunks, which are there at once, and then falls silent, or ends. */
const atHand = (chunks: Uint8Array[], ends = false) => {
  const rest = [...chunks];
  let ran = false;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = rest.shift();
      if (chunk !== undefined) return controller.enqueue(chunk);
      if (!ends) return never();
      ran = true;
      controller.close();
    },
  });
  return { body, ranOut: () => ran };
};

it("gives the first piece by itself where it is wanted soon, then all that are there already together", async () => {
  const words = ["a", "b", "c"].map((content) => bytesOf(says({ content })));
  const stream = over(atHand(words).body);
  expect(await stream.next(true)).toMatchObject({ pieces: [{ choices: [{ delta: { content: "a" } }] }], last: false });
  expect(await stream.next(false)).toMatchObject({
    pieces: [{ choices: [{ delta: { content: "bc" } }] }],
    last: false,
  });
});

it("loses nothing of a body that goes on while its reader is busy", async () => {
  let source: ReadableStreamDefaultController<Uint8Array> | undefined;
  const stream = over(
    new ReadableStream<Uint8Array>({
      start: (controller) => {
        source = controller;
      },
    }),
  );
  const say = (content: string) => source?.enqueue(bytesOf(says({ content })));
  let text = "";
  const hear = async (soon: boolean) => {
    const { pieces } = await stream.next(soon);
    text += deltas([...pieces])
      .map((delta) => delta?.content)
      .join("");
  };
  say("a");
  await hear(true);
  say("b");
  // Given when nothing more was there; by then it was asked for more.
  await hear(false);
  say("c");
  await scheduler.wait(30);
  say("d");
  await hear(true);
  await hear(true);
  expect(text).toBe("abcd");
});

it("tells that it is whole with its last pieces, and lets its body run out behind them", async () => {
  const { body, ranOut } = atHand([bytesOf(says({ content: "a" })), bytesOf(...ENDED)], true);
  const stream = over(body);
  await stream.next(true);
  expect(await stream.next(false)).toMatchObject({ pieces: [{ choices: [{ finish_reason: "stop" }] }], last: true });
  stream.stop();
  await expect.poll(ranOut).toBe(true);
});
