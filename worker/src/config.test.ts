import { describe, expect, it } from "vitest";
import { stageConfig } from "../test/support/stage.ts";
import { parseConfig } from "./config.ts";

type Json = Record<string, unknown>;
const models = () => structuredClone(stageConfig().models) as Record<string, Json>;
const fault = (changes: Json) => () => parseConfig(JSON.stringify(stageConfig(changes)));

describe("parseConfig", () => {
  it("accepts a stage and fills in what it leaves open", () => {
    const config = parseConfig(JSON.stringify(stageConfig()));
    expect(config.cache).toEqual({ enabled: true, ttl: 300, sampled: false, semantic: null, coalesce_ms: 30_000 });
    expect(config.timeouts).toEqual({
      first_token_ms: 60_000,
      idle_ms: 30_000,
      stream_ms: 600_000,
      client_ms: 60_000,
      answer_ms: 180_000,
    });
    expect(config.models.chat?.split).toEqual([
      [1, 90],
      [2, 10],
    ]);
  });

  it("passes over fields that it doesn't know", () => {
    expect(parseConfig(JSON.stringify(stageConfig({ later: 1 }))).stage).toBe("test");
  });

  it("refuses text that is not JSON", () => {
    expect(() => parseConfig("{")).toThrow(/^config\.json: not JSON/);
  });

  it("names the path of a field of the wrong type", () => {
    expect(fault({ limits: { body_bytes: "big", requests: 5, period: 60 } })).toThrow(
      /^config\.json: limits\.body_bytes: /,
    );
  });

  it("refuses a limiter period that the platform doesn't have", () => {
    expect(fault({ limits: { body_bytes: 1, requests: 5, period: 30 } })).toThrow(/^config\.json: limits\.period: /);
  });

  it.each([
    [
      "weights that sum to 99",
      [
        [1, 89],
        [2, 10],
      ],
      "weights sum to 99, must be 100",
    ],
    [
      "a version that does not exist",
      [
        [1, 90],
        [3, 10],
      ],
      "version 3 does not exist",
    ],
    [
      "a version named twice",
      [
        [1, 90],
        [1, 10],
      ],
      "version 1 is named twice",
    ],
  ])("refuses a split with %s", (_, split, message) => {
    const changed = models();
    changed.chat = { ...changed.chat, split };
    expect(fault({ models: changed })).toThrow(`config.json: models.chat.split: ${message}`);
  });

  it("refuses a workers-ai version without a model id", () => {
    const changed = models();
    changed.chat = { task: "chat", versions: { "1": { backend: "workers-ai" } }, split: [[1, 100]] };
    expect(fault({ models: changed })).toThrow("config.json: models.chat.versions.1.id: missing");
  });

  const openAi = (fields: Json) =>
    fault({
      models: { far: { task: "chat", versions: { "1": { backend: "openai", ...fields } }, split: [[1, 100]] } },
    });

  it.each<[Json, string]>([
    [{ base_url: "https://up.test/v1" }, "id: missing"],
    [{ id: "m" }, "base_url: missing"],
    [{ id: "m", base_url: "" }, "base_url: "],
    ...[
      ...["http://up.test/v1", "ftp://127.0.0.1", "up.test/v1", "https://up.test/v1/", "https://k:s@up.test"],
      ...["https://up.test/v1?key=1", "https://up.test/#x", "http://127.0.0.1.evil.test", "http://localhost.evil.test"],
    ].map((base_url) => [{ id: "m", base_url }, "base_url: must be an https URL"] as [Json, string]),
  ])("refuses an openai version with %j", (fields, message) => {
    expect(openAi(fields)).toThrow(`config.json: models.far.versions.1.${message}`);
  });

  it.each([
    { base_url: "https://up.test/v1" },
    { base_url: "http://127.0.0.1:8788/v1" },
    { base_url: "http://localhost:11434/v1" },
    { base_url: "http://[::1]:8000" },
    { provider: "custom-up/v1" },
  ])("takes an openai version with %j", (fields) => {
    expect(openAi({ id: "m", ...fields })).not.toThrow();
  });

  it.each(["聊天", "a@1", "a/b", ""])("refuses the model name %j", (name) => {
    expect(fault({ models: { [name]: models().chat } })).toThrow(`config.json: models.${name}: a model's name is`);
  });

  it("refuses two default models", () => {
    const changed = models();
    changed.other = { ...changed.chat };
    expect(fault({ models: changed })).toThrow("config.json: models: more than one default: chat, other");
  });

  it.each([
    ...["http://id.test/keys", "http://localhost.evil.test/keys", "http://localhost:x@evil.test/keys", "id.test/keys"],
    ...["https://user:pass@id.test/keys", "ftp://127.0.0.1/keys", ""],
  ])("takes no issuer's keys from %j", (jwks_uri) => {
    const issuers = [{ issuer: "https://id.test", audience: ["a"], jwks_uri }];
    const text = JSON.stringify(stageConfig({ auth: { required: true, issuers } }));
    expect(() => parseConfig(text)).toThrow(/auth\.issuers\.0\.jwks_uri/);
  });

  it.each(["http://localhost:x@evil.test/v1/traces", "http://127.0.0.1:1@evil.test/", "https://user:pass@host.test/"])(
    "sends no traces to %j",
    (endpoint) => {
      const text = JSON.stringify(stageConfig({ telemetry: { otlp: { endpoint } } }));
      expect(() => parseConfig(text)).toThrow(/telemetry\.otlp\.endpoint/);
    },
  );

  it.each(["https://id.test/keys", "http://127.0.0.1:9/keys", "http://localhost/keys", "http://[::1]:9/keys"])(
    "takes an issuer's keys from %s",
    (jwks_uri) => {
      const issuers = [{ issuer: "https://id.test", audience: ["a"], jwks_uri }];
      const { auth } = parseConfig(JSON.stringify(stageConfig({ auth: { required: true, issuers } })));
      expect(auth.issuers[0]).toMatchObject({ jwks_uri, algorithms: ["RS256", "ES256"], leeway: 60 });
    },
  );
});
