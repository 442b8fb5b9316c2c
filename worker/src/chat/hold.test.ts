import { describe, expect, it } from "vitest";
import { PiecesOf } from "../../test/support/pieces.ts";
import type { Piece } from "../backends/backend.ts";
import { beginStream } from "./hold.ts";

const says = (delta: Record<string, unknown>, finish_reason: string | null = null): Piece => ({
  choices: [{ index: 0, delta, finish_reason }],
  usage: null,
});
const usage = { prompt_tokens: 5, completion_tokens: 0, total_tokens: 5 };
/** What waits for this long is ended by the test's own timeout. */
const BEYOND_TEST_MS = 60_000;
const SILENCE = { firstMs: 100, idleMs: 50, wholeMs: BEYOND_TEST_MS };
const PATIENT = { firstMs: BEYOND_TEST_MS, idleMs: BEYOND_TEST_MS };

/** These pieces, each after so many milliseconds; an error is thrown in its turn. */
async function* stream(steps: [number, Piece | Error][], ended: { by?: string } = {}) {
  try {
    for (const [after, step] of steps) {
      await scheduler.wait(after);
      if (step instanceof Error) throw step;
      yield step;
    }
  } finally {
    ended.by = "end";
  }
}

async function all(pieces: AsyncIterable<Piece>): Promise<Piece[]> {
  const seen: Piece[] = [];
  for await (const piece of pieces) seen.push(piece);
  return seen;
}

const ends: unknown[] = [];
const begin = async (
  steps: [number, Piece | Error][],
  abort = new AbortController(),
  ended = {},
  silence = SILENCE,
) => {
  ends.length = 0;
  const pieces = await beginStream(
    async () => new PiecesOf(stream(steps, ended)),
    silence,
    abort,
    (error) => ends.push(error),
  );
  return pieces[Symbol.asyncIterator]();
};

describe("beginStream", () => {
  it("holds back what says nothing, and gives the rest", async () => {
    const empty: Piece[] = [
      says({ role: "assistant", content: "" }),
      says({ content: null, tool_calls: [] }),
      says({}),
    ];
    const pieces = await begin([...empty.map((piece): [number, Piece] => [0, piece]), [0, says({ content: "a" })]]);
    expect(await all(pieces)).toEqual([says({ content: "a" })]);
  });

  it.each([
    ["reasoning", says({ reasoning: "hm" })],
    ["a tool call", says({ tool_calls: [{ index: 0 }] })],
    ["the end", says({}, "stop")],
  ])("takes %s for content", async (_, piece) => {
    const pieces = await begin([
      [0, piece],
      [0, new Error("later")],
    ]);
    expect((await pieces.next()).value).toEqual(piece);
    await expect(pieces.next()).rejects.toThrow("later");
  });

  it("gw_07 goes on holding when only usage was told, and doesn't lose it", async () => {
    const told: Piece = { choices: [], usage };
    await expect(
      begin([
        [0, told],
        [0, new Error("reset")],
      ]),
    ).rejects.toThrow("reset");
    const pieces = await begin([
      [0, told],
      [0, says({ content: "a" })],
    ]);
    expect(await all(pieces)).toEqual([told, says({ content: "a" })]);
  });

  it("gw_03 waits for the first content only so long, however much else comes", async () => {
    const abort = new AbortController();
    const ended: { by?: string } = {};
    const frame: [number, Piece] = [20, says({ role: "assistant" })];
    const frames = Array<typeof frame>(BEYOND_TEST_MS / 20).fill(frame);
    await expect(begin(frames, abort, ended)).rejects.toMatchObject({ status: 504 });
    expect(abort.signal.aborted).toBe(true);
    await expect.poll(() => ended.by).toBe("end");
  });

  it("allows the first content more time than later ones", async () => {
    const steps: [number, Piece][] = [
      [350, says({ content: "a" })],
      [10, says({ content: "b" })],
      [BEYOND_TEST_MS, says({ content: "c" })],
    ];
    const pieces = await begin(steps, new AbortController(), {}, { ...PATIENT, idleMs: 300, wholeMs: BEYOND_TEST_MS });
    const seen: Piece[] = [];
    const read = async () => {
      for await (const piece of pieces) seen.push(piece);
    };
    await expect(read()).rejects.toMatchObject({ code: "upstream_timeout" });
    expect(seen).toHaveLength(2);
  });

  it("gw_03 ends one that goes on and on, though it is never silent", async () => {
    const abort = new AbortController();
    const ended: { by?: string } = {};
    const word: [number, Piece] = [10, says({ content: "word " })];
    const words = Array<typeof word>(BEYOND_TEST_MS / 10).fill(word);
    const pieces = await begin(words, abort, ended, { ...PATIENT, wholeMs: 300 });
    let seen = 0;
    const read = async () => {
      for await (const _ of pieces) seen++;
    };
    await expect(read()).rejects.toMatchObject({ status: 504, code: "upstream_timeout" });
    // Not before its time: much was read until then.
    expect(seen).toBeGreaterThan(1);
    expect(abort.signal.aborted).toBe(true);
    expect(ends).toMatchObject([{ code: "upstream_timeout" }]);
    await expect.poll(() => ended.by).toBe("end");
  });

  it("gw_03 waits in silence no longer than all of it may take", async () => {
    const steps: [number, Piece][] = [
      [0, says({ content: "a" })],
      [BEYOND_TEST_MS, says({ content: "b" })],
    ];
    const pieces = await begin(steps, new AbortController(), {}, { ...PATIENT, wholeMs: 100 });
    await expect(all(pieces)).rejects.toMatchObject({ code: "upstream_timeout" });
  });

  it("gw_03 ends one whose client reads so slowly that its time runs out, though more is there at once", async () => {
    const words = ["a", "b", "c"].map((content) => says({ content }));
    const source = async function* () {
      yield* words;
    };
    const silence = { ...PATIENT, wholeMs: 50 };
    const abort = new AbortController();
    const begun = await beginStream(
      async () => new PiecesOf(source()),
      silence,
      abort,
      () => {},
    );
    const pieces = begun[Symbol.asyncIterator]();
    expect((await pieces.next()).value).toEqual(words[0]);
    await scheduler.wait(80);
    await expect(pieces.next()).rejects.toMatchObject({ code: "upstream_timeout" });
    expect(abort.signal.aborted).toBe(true);
  });

  it("tells how a stream ended that had begun, and nothing of one whose reader left", async () => {
    const good: [number, Piece] = [0, says({ content: "a" })];
    await all(await begin([good]));
    expect(ends).toEqual([null]);
    const broken = new Error("reset");
    await expect(all(await begin([good, [0, broken]]))).rejects.toBe(broken);
    expect(ends).toEqual([broken]);
    const left = await begin([good, good]);
    await left.next();
    await left.return();
    expect(ends).toEqual([]);
  });

  it("throws what opening throws, and lets the backend go when the reader leaves", async () => {
    const open = () => Promise.reject(new Error("refused"));
    await expect(beginStream(open, SILENCE, new AbortController(), () => {})).rejects.toThrow("refused");
    const ended: { by?: string } = {};
    const pieces = await begin(
      [
        [0, says({ content: "a" })],
        [0, says({ content: "b" })],
      ],
      new AbortController(),
      ended,
    );
    await pieces.next();
    await pieces.return();
    await expect.poll(() => ended.by).toBe("end");
  });
});
