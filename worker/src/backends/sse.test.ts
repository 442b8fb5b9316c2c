import { describe, expect, it } from "vitest";
import { streamOf } from "../../test/support/fake-ai.ts";
import { decodeEvents } from "./sse.ts";

const encoder = new TextEncoder();
const TEXTS = ["北京", "🦊", " ok"];
const STREAM = `: comment\n\n${TEXTS.map((text) => `data: ${JSON.stringify({ text })}\n\n`).join("")}data: [DONE]\n\n`;

async function decode(chunks: Uint8Array[], signal = new AbortController().signal): Promise<string[]> {
  const events: string[] = [];
  for await (const data of decodeEvents(streamOf(chunks).body as ReadableStream<Uint8Array>, signal))
    events.push(...data);
  return events;
}

const wanted = [...TEXTS.map((text) => JSON.stringify({ text })), "[DONE]"];

describe("decodeEvents", () => {
  it.each([
    ["LF", STREAM],
    ["CRLF", STREAM.replaceAll("\n", "\r\n")],
    ["CR", STREAM.replaceAll("\n", "\r")],
  ])("gw_01 reads the same events wherever a %s stream is cut", async (_, text) => {
    const bytes = encoder.encode(text);
    expect(await decode([bytes])).toEqual(wanted);
    for (let cut = 1; cut < bytes.length; cut++) {
      expect(await decode([bytes.slice(0, cut), bytes.slice(cut)])).toEqual(wanted);
    }
    expect(await decode(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(wanted);
  });

  it("gw_01 reads a last event that lacks its blank line", async () => {
    expect(await decode([encoder.encode("data: a\n\ndata: b")])).toEqual(["a", "b"]);
    expect(await decode([encoder.encode("data: a\n\ndata: b\n")])).toEqual(["a", "b"]);
  });

  it("gw_01 joins the lines of an event of several", async () => {
    expect(await decode([encoder.encode("data: {\ndata: }\n\n")])).toEqual(["{\n}"]);
  });

  it("cancels the body when its reader leaves", async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(encoder.encode("data: x\n\n")),
      cancel: () => {
        cancelled = true;
      },
    });
    for await (const data of decodeEvents(body, new AbortController().signal)) {
      expect(data[0]).toBe("x");
      break;
    }
    expect(cancelled).toBe(true);
  });

  it("ends a wait for a silent body when it is aborted", async () => {
    const abort = new AbortController();
    const body = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => {}) });
    const next = decodeEvents(body, abort.signal).next();
    abort.abort(new Error("client left"));
    await expect(next).rejects.toThrow("client left");
  });
});
