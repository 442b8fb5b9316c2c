import { describe, expect, it } from "vitest";
import { errorOf, Stage } from "../../test/support/stage.ts";

describe("failures", () => {
  it("that nobody foresaw tell the client nothing, and the log their place", async () => {
    const bucket = { get: () => Promise.reject(new RangeError("secret inside")) } as unknown as R2Bucket;
    const stage = new Stage({}, { MODELS: bucket });
    const response = await stage.ask({ path: "/v1/models/intent/artifacts/1/model.onnx" });
    expect(response.status).toBe(500);
    expect(await errorOf(response)).toEqual({
      message: "The gateway failed to answer this request.",
      type: "server_error",
      param: null,
      code: "internal_error",
      request_id: "req-test-1",
    });
    const exception = stage.logs.find((line) => line.event === "exception");
    expect(exception).toMatchObject({ id: "req-test-1", name: "RangeError" });
    expect(JSON.stringify(stage.logs)).not.toContain("secret inside");
  });

  it.each([["a text"], [undefined], [{ message: "secret inside" }]])(
    "that are no errors are answered and logged like one: %j",
    async (thrown) => {
      const bucket = { get: () => Promise.reject(thrown) } as unknown as R2Bucket;
      const stage = new Stage({}, { MODELS: bucket });
      const response = await stage.ask({ path: "/v1/models/intent/artifacts/1/model.onnx" });
      expect(response.status).toBe(500);
      expect((await errorOf(response)).code).toBe("internal_error");
      expect(response.headers.get("x-sluiceway-release")).toBe("r-0123456789ab");
      expect(stage.requestLogs).toHaveLength(1);
      expect(stage.logs.filter((line) => line.event === "exception")).toMatchObject([{ name: "NotAnError" }]);
      expect(JSON.stringify(stage.logs)).not.toContain("secret inside");
    },
  );

  it.each([
    ["/chat/completions", "/v1/chat/completions"],
    ["/v1/v1/embeddings", "/v1/embeddings"],
    ["/v1/chat/completions/responses/", "/v1/responses"],
  ])("of a base URL that is wrong by its /v1 say so: %s", async (path, meant) => {
    const response = await new Stage().ask({ path });
    expect(response.status).toBe(404);
    expect((await errorOf(response)).message).toContain(`end in /v1, which makes it ${meant}.`);
  });

  it("of a path that nobody serves guess nothing", async () => {
    expect((await errorOf(await new Stage().ask({ path: "/v1/files" }))).message).toBe(
      "There is nothing at /v1/files.",
    );
  });

  it("that are no errors are answered on the admin endpoints too", async () => {
    const stage = new Stage();
    Object.defineProperty(stage.env, "ADMIN_KEY", {
      get: () => {
        throw "a text";
      },
    });
    expect((await stage.ask({ path: "/_sluiceway/keys" })).status).toBe(500);
    expect(stage.requestLogs).toMatchObject([{ status: 500, error: "internal_error" }]);
  });

  it("at an unknown path are a 404 in OpenAI's shape", async () => {
    const response = await new Stage().ask({ path: "/v1/nowhere" });
    expect(response.status).toBe(404);
    expect(await errorOf(response)).toMatchObject({ code: "not_found", type: "invalid_request_error" });
  });
});
