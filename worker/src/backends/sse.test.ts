import { describe, expect, it } from "vitest";
import { EventDecoder } from "./sse.ts";

const encoder = new TextEncoder();
const TEXTS = ["北京", "🦊", " ok"];
const STREAM = `: comment\n\n${TEXTS.map((text) => `data: ${JSON.stringify({ text })}\n\n`).join("")}data: [DONE]\n\n`;

function decode(chunks: Uint8Array[]): string[] {
  const decoder = new EventDecoder();
  return [...chunks.flatMap((chunk) => decoder.push(chunk)), ...decoder.end()];
}

const wanted = [...TEXTS.map((text) => JSON.stringify({ text })), "[DONE]"];

describe("EventDecoder", () => {
  it.each([
    ["LF", STREAM],
    ["CRLF", STREAM.replaceAll("\n", "\r\n")],
    ["CR", STREAM.replaceAll("\n", "\r")],
  ])("gw_01 reads the same events wherever a %s stream is cut", (_, text) => {
    const bytes = encoder.encode(text);
    expect(decode([bytes])).toEqual(wanted);
    for (let cut = 1; cut < bytes.length; cut++) {
      expect(decode([bytes.slice(0, cut), bytes.slice(cut)])).toEqual(wanted);
    }
    expect(decode(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(wanted);
  });

  it("gw_01 reads a last event that lacks its blank line", () => {
    expect(decode([encoder.encode("data: a\n\ndata: b")])).toEqual(["a", "b"]);
    expect(decode([encoder.encode("data: a\n\ndata: b\n")])).toEqual(["a", "b"]);
  });

  it.each<[string, string[]]>([
    ["data:a\n\ndata:  b\n\n", ["a", " b"]],
    ["data\n\ndata:\n\ndata: \n\n", ["", "", ""]],
    ["event: x\nid: 1\nretry: 5\ndatum: y\nDATA: z\n\n\n\n", []],
    ["event: x\ndata: a\n: between\ndata\ndata: b\n\n", ["a\n\nb"]],
    ["\ufeffdata: a\r\rdata: b\r\n\r\n", ["a", "b"]],
  ])("gw_01 reads of %j the data alone, wherever it is cut", (text, events) => {
    const bytes = encoder.encode(text);
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(decode([bytes.slice(0, cut), bytes.slice(cut)])).toEqual(events);
    }
  });

  it("gw_01 joins the lines of an event of several", () => {
    expect(decode([encoder.encode("data: {\ndata: }\n\n")])).toEqual(["{\n}"]);
  });
});
