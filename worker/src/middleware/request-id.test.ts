import { describe, expect, it } from "vitest";
import { errorOf, Stage } from "../../test/support/stage.ts";

describe("request id", () => {
  it("is on an answer, in an error and in the log, and is the same there", async () => {
    const stage = new Stage();
    const response = await stage.ask({ path: "/v1/models/nope" });
    const id = response.headers.get("x-request-id");
    expect(id).toBe("req-test-1");
    expect((await errorOf(response)).request_id).toBe(id);
    expect(stage.requestLogs[0]?.id).toBe(id);
  });

  it("is the caller's own when that is well-formed", async () => {
    const response = await new Stage().ask({ path: "/healthz", headers: { "x-request-id": "trace-0123456789" } });
    expect(response.headers.get("x-request-id")).toBe("trace-0123456789");
  });

  it.each(["short", "with space in it", `${"x".repeat(65)}`, 'quote"quote"quote', "sk-slw-0123456789ab-secret"])(
    "is ours when the caller's is %j",
    async (theirs) => {
      const response = await new Stage().ask({ path: "/healthz", headers: { "x-request-id": theirs } });
      expect(response.headers.get("x-request-id")).toBe("req-test-1");
    },
  );

  it("goes with word to browsers that no answer is a page, whoever gives it", async () => {
    const stage = new Stage({}, { ADMIN_KEY: "an-admin-key-of-24-letters" });
    for (const path of ["/healthz", "/v1/models", "/<script>", "/_sluiceway/keys"]) {
      const { headers } = await stage.ask({ path });
      expect(headers.get("x-content-type-options"), path).toBe("nosniff");
    }
    const streamed = await stage.chat({ stream: true });
    expect(streamed.headers.get("content-type")).toContain("text/event-stream");
    expect(streamed.headers.get("x-content-type-options")).toBe("nosniff");
  });
});
