import { env } from "cloudflare:test";
import { beforeAll, describe, expect, it } from "vitest";
import { errorOf, Stage, stageConfig } from "../../test/support/stage.ts";
import { sha256Hex } from "../digest.ts";
import type { GatewayEnv } from "../env.ts";

const { MODELS } = env as unknown as GatewayEnv;
const PATH = "/v1/models/intent/artifacts/1/model.onnx";
const SHA256 = "ab".repeat(32);
const BYTES = Uint8Array.from({ length: 300_000 }, (_, index) => (index * 31) % 256);

beforeAll(async () => {
  await MODELS.put(`models/intent/1/${SHA256}/model.onnx`, BYTES);
});

describe("GET /v1/models/{name}/artifacts/{version}/{file}", () => {
  it("streams the object byte for byte, named by its sha256", async () => {
    const response = await new Stage().ask({ path: PATH });
    expect(response.status).toBe(200);
    expect(response.headers.get("etag")).toBe(`"${SHA256}"`);
    expect(response.headers.get("content-type")).toBe("application/octet-stream");
    const got = new Uint8Array(await response.arrayBuffer());
    expect(got.length).toBe(BYTES.length);
    expect(await sha256Hex(got)).toBe(await sha256Hex(BYTES));
  });

  it.each([`"${SHA256}"`, `W/"${SHA256}"`, `"other", "${SHA256}"`, "*"])("answers 304 to who has %s", async (tags) => {
    const response = await new Stage().ask({ path: PATH, headers: { "if-none-match": tags } });
    expect([response.status, await response.text()]).toEqual([304, ""]);
  });

  it.each([`"other"`, SHA256, ""])("answers whole to who has %j", async (tags) => {
    const response = await new Stage().ask({ path: PATH, headers: { "if-none-match": tags } });
    expect([response.status, (await response.arrayBuffer()).byteLength]).toEqual([200, BYTES.length]);
  });

  it.each([
    ["/v1/models/intent/artifacts/1/model.onnx%2Fx", "artifact_not_found"],
    ["/v1/models/nope/artifacts/1/model.onnx", "model_not_found"],
    ["/v1/models/intent/artifacts/2/model.onnx", "model_not_found"],
    ["/v1/models/intent/artifacts/1/other.onnx", "artifact_not_found"],
    ["/v1/models/chat/artifacts/1/model.onnx", "artifact_not_found"],
    ["/v1/models/intent/artifacts/1/..%2f..%2fsecret", "artifact_not_found"],
  ])("answers 404 for %s", async (path, code) => {
    const response = await new Stage().ask({ path });
    expect([response.status, (await errorOf(response)).code]).toEqual([404, code]);
  });

  it("gives a file in a folder by its escaped name", async () => {
    const models = structuredClone(stageConfig().models) as {
      intent: { versions: { "1": { artifact: { files: { name: string }[] } } } };
    };
    for (const file of models.intent.versions["1"].artifact.files) file.name = "data/model.onnx.data";
    const path = "/v1/models/intent/artifacts/1/data%2Fmodel.onnx.data";
    const response = await new Stage({ models }).ask({ path });
    expect([response.status, (await response.arrayBuffer()).byteLength]).toEqual([200, BYTES.length]);
  });

  it("says so when the object was never uploaded", async () => {
    const models = structuredClone(stageConfig().models) as {
      intent: { versions: { "1": { artifact: { files: { key: string }[] } } } };
    };
    for (const file of models.intent.versions["1"].artifact.files) file.key = "gone";
    const response = await new Stage({ models }).ask({ path: PATH });
    expect((await errorOf(response)).message).toMatch(/has not been uploaded/);
  });
});
