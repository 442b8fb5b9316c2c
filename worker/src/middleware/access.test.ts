import { describe, expect, it } from "vitest";
import { chatBody, errorOf, KEY, Stage } from "../../test/support/stage.ts";

const PATH = "/v1/chat/completions";

async function ask(headers: Record<string, string>): Promise<Response> {
  return new Stage().ask({ path: PATH, body: chatBody(), headers: { authorization: "", ...headers } });
}

describe("API key", () => {
  it.each([
    ["Authorization: Bearer", { authorization: `Bearer ${KEY}` }],
    ["a lower case scheme", { authorization: `bearer ${KEY}` }],
    ["X-API-Key", { "x-api-key": KEY }],
  ])("is taken as %s", async (_, headers) => {
    expect((await ask(headers)).status).toBe(200);
  });

  it("is refused in the same words whatever is wrong with it", async () => {
    const wrongs: Record<string, string>[] = [
      {},
      { authorization: "Bearer wrong" },
      { authorization: "Bearer " },
      { authorization: `Basic ${KEY}` },
      { authorization: KEY },
      { "x-api-key": `${KEY}x` },
      { "x-api-key": KEY.slice(0, -1) },
      { authorization: "Bearer wrong", "x-api-key": KEY },
    ];
    const answers = await Promise.all(
      wrongs.map(async (headers) => {
        const response = await ask(headers);
        const { request_id: _, ...error } = await errorOf(response);
        return JSON.stringify([response.status, response.headers.get("www-authenticate"), error]);
      }),
    );
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toContain("401");
    expect(answers[0]).toContain("invalid_api_key");
  });

  it("guards every endpoint but the health check", async () => {
    const stage = new Stage();
    const headers = { authorization: "" };
    for (const path of ["/v1/models", "/v1/models/chat", "/v1/models/intent/artifacts/1/model.onnx"]) {
      expect((await stage.ask({ path, headers })).status).toBe(401);
    }
    expect((await stage.ask({ path: "/", body: { prompt: "Hi" }, headers })).status).toBe(401);
    expect((await stage.ask({ path: "/healthz", headers })).status).toBe(200);
  });

  it("lets no one in when the stage has lost its secret", async () => {
    const response = await new Stage({}, { API_KEY: "" }).ask({
      path: PATH,
      body: chatBody(),
      headers: { authorization: "" },
    });
    expect(response.status).toBe(500);
    expect((await errorOf(response)).code).toBe("misconfigured");
  });

  it("is not asked for on a stage that is open", async () => {
    const stage = new Stage({ auth: { required: false } });
    expect((await stage.ask({ path: PATH, body: chatBody(), headers: { authorization: "" } })).status).toBe(200);
  });
});
