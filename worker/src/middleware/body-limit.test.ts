import { describe, expect, it } from "vitest";
import { chatBody, errorOf, KEY, Stage } from "../../test/support/stage.ts";

const PATH = "/v1/chat/completions";
const MIB = 1_048_576;

/** A body of `size` bytes that tells no length but the `declared` one; `pulled` counts what was really read. */
function chunked(size: number, declared?: number): { request: Request; pulled: () => number } {
  let pulled = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (pulled >= size) return controller.close();
        pulled += 65_536;
        controller.enqueue(new Uint8Array(65_536).fill(32));
      },
    },
    { highWaterMark: 0 },
  );
  const length = declared === undefined ? {} : { "content-length": String(declared) };
  const headers = { authorization: `Bearer ${KEY}`, ...length };
  return {
    request: new Request(`https://gateway.test${PATH}`, { method: "POST", body, headers }),
    pulled: () => pulled,
  };
}

describe("body limit", () => {
  it.each([2 * MIB, 12 * MIB])(
    "wr_09 answers 413 to %d bytes of declared length without reading any, and then the next request",
    async (size) => {
      const stage = new Stage();
      const { request, pulled } = chunked(size, size);
      const response = await stage.fetch(request);
      expect([response.status, pulled()]).toEqual([413, 0]);
      expect(await errorOf(response)).toMatchObject({ type: "invalid_request_error", code: "request_too_large" });
      expect((await stage.chat()).status).toBe(200);
    },
  );

  it("wr_09 counts the bytes of a body that tells no length, and stops reading", async () => {
    const stage = new Stage();
    const { request, pulled } = chunked(12 * MIB);
    const response = await stage.fetch(request);
    expect(response.status).toBe(413);
    expect((await errorOf(response)).code).toBe("request_too_large");
    expect(pulled()).toBeLessThan(2 * MIB);
    expect((await stage.chat()).status).toBe(200);
  });

  it("takes a body that is exactly as long as allowed", async () => {
    const body = JSON.stringify(chatBody());
    const limits = { body_bytes: body.length, requests: 5, period: 60 };
    expect((await new Stage({ limits }).ask({ path: PATH, body })).status).toBe(200);
    expect((await new Stage({ limits }).ask({ path: PATH, body: `${body} ` })).status).toBe(413);
  });

  it("reads nothing of a caller without key", async () => {
    const { request, pulled } = chunked(MIB / 2);
    request.headers.delete("authorization");
    expect((await new Stage().fetch(request)).status).toBe(401);
    expect(pulled()).toBe(0);
  });
});
