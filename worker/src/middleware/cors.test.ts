import { describe, expect, it } from "vitest";
import { chatBody, Stage } from "../../test/support/stage.ts";

const PAGE = "http://localhost:3000";
const PATH = "/v1/chat/completions";

function preflight(origin: string) {
  const headers = {
    origin,
    authorization: "",
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type,x-stainless-os",
  };
  return { path: PATH, method: "OPTIONS", headers };
}

describe("CORS", () => {
  it("gw_20 answers a preflight of an allowed page without key, counting it against no limit", async () => {
    let counted = 0;
    const limiter = { limit: async () => ({ success: ++counted < 0 }) };
    const response = await new Stage({}, { RATE_LIMIT: limiter }).ask(preflight(PAGE));
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-origin")).toBe(PAGE);
    expect(response.headers.get("access-control-allow-headers")).toBe("authorization,content-type,x-stainless-os");
    expect(response.headers.get("access-control-allow-methods")).toContain("POST");
    expect(response.headers.get("access-control-allow-methods")).toContain("DELETE");
    expect(response.headers.get("access-control-max-age")).toBe("600");
    expect(response.headers.get("vary")).toMatch(/Origin/);
    expect(counted).toBe(0);
  });

  it.each([
    "https://evil.test",
    "http://localhost:3000.evil.test",
    "http://localhost:30000",
    "https://localhost:3000",
    "http://localhost",
    "null",
  ])("gw_20 gives a foreign page no leave: %s", async (origin) => {
    const response = await new Stage().ask(preflight(origin));
    expect(response.status).toBe(204);
    expect(response.headers.has("access-control-allow-origin")).toBe(false);
    expect(response.headers.has("access-control-allow-headers")).toBe(false);
    expect(response.headers.get("vary")).toMatch(/Origin/);
  });

  const full = { RATE_LIMIT: { limit: async () => ({ success: false }) } };
  const broken = { MODELS: { get: () => Promise.reject(new Error("down")) } as unknown as R2Bucket };
  const failing = { AI: { run: async () => new Response("busy", { status: 503 }) } as unknown as Ai };
  it.each([
    ["401 without key", 401, {}, { path: PATH, body: chatBody(), headers: { authorization: "" } }],
    ["401", 401, {}, { path: PATH, body: chatBody(), headers: { authorization: "Bearer wrong" } }],
    ["429", 429, full, { path: PATH, body: chatBody() }],
    ["500", 500, broken, { path: "/v1/models/intent/artifacts/1/model.onnx" }],
    ["503", 503, failing, { path: PATH, body: chatBody({ stream: true }) }],
    ["404", 404, {}, { path: "/nowhere" }],
    ["405", 405, {}, { path: "/", method: "PUT" }],
    ["413", 413, {}, { path: PATH, body: "x".repeat(2_000_000) }],
    ["a stream", 200, {}, { path: PATH, body: chatBody({ stream: true }) }],
    ["a plain answer", 200, {}, { path: PATH, body: chatBody() }],
  ])("gw_20 lets an allowed page read %s", async (_, status, bindings, asked) => {
    const headers = { origin: PAGE, ...(asked as { headers?: Record<string, string> }).headers };
    const response = await new Stage({}, bindings).ask({ ...asked, headers });
    expect(response.status).toBe(status);
    expect(response.headers.get("access-control-allow-origin")).toBe(PAGE);
    const exposed = response.headers.get("access-control-expose-headers");
    for (const name of ["x-request-id", "retry-after", "x-should-retry"]) expect(exposed).toContain(name);
    expect(response.headers.get("vary")).toMatch(/Origin/);
    expect(response.headers.has("access-control-allow-credentials")).toBe(false);
  });

  it.each([
    ["a 401", { authorization: "" }, false],
    ["an answer", {}, false],
    ["a stream", {}, true],
  ])("gw_20 doesn't let a foreign page read %s", async (_, key, stream) => {
    const headers = { origin: "https://evil.test", ...key };
    const response = await new Stage().chat({ stream }, headers);
    expect(response.headers.has("access-control-allow-origin")).toBe(false);
    expect(response.headers.has("access-control-expose-headers")).toBe(false);
    expect(response.headers.get("vary")).toMatch(/Origin/);
  });

  it("lets every page read where the stage says *", async () => {
    const response = await new Stage({ cors: { origins: ["*"], max_age: 1 } }).ask({
      path: "/healthz",
      headers: { origin: "https://a.test" },
    });
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
  });
});
