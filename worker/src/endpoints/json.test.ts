import { describe, expect, it } from "vitest";
import type { GatewayContext } from "../gateway.ts";
import { json } from "./json.ts";

const TEXTS = ["", "plain", "é", "模型", "👍🏽", "a\ud800b", "\udc00\ud800", "mixed é模👍 \u07ff\u0800\uffff"];

describe("the size of a JSON answer in the log", () => {
  it.each([...TEXTS, ...TEXTS.map((text) => text.repeat(3_000))].map((text) => [text]))(
    "is the bytes that are sent (%#)",
    async (text) => {
      const record = { bytesOut: 0 };
      const c = { get: () => record } as unknown as GatewayContext;
      const sent = await json(c, { text }).arrayBuffer();
      expect(record.bytesOut).toBe(sent.byteLength);
    },
  );
});
