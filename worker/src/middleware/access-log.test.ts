import { describe, expect, it } from "vitest";
import { answerWith, delta, refuse, stall, streamOf } from "../../test/support/fake-ai.ts";
import { chatBody, KEY, Stage } from "../../test/support/stage.ts";

const SECRET_PROMPT = "the launch code is 0000";
const asking = (changes = {}) => ({ messages: [{ role: "user", content: SECRET_PROMPT }], ...changes });

describe("access log", () => {
  it("is one line a request that says what it was", async () => {
    const stage = new Stage();
    await stage.chat({ temperature: 0 });
    expect(stage.logs).toHaveLength(1);
    expect(stage.logs[0]).toMatchObject({
      event: "request",
      level: "info",
      id: "req-test-1",
      method: "POST",
      path: "/v1/chat/completions",
      status: 200,
      model: "chat",
      version: 1,
      variant: "pinned",
      release: "r-0123456789ab",
      worker_version: "11111111-test",
      stream: false,
      cache: "miss",
      prompt_tokens: 7,
      completion_tokens: 4,
      usage_estimated: false,
      cost_usd: expect.any(Number),
      fallback: null,
      retries: 0,
      guard: [],
      via: "stage-key",
      error: null,
    });
    expect(stage.logs[0]?.key_id).toMatch(/^[0-9a-f]{12}$/);
    expect(stage.logs[0]).not.toHaveProperty("trace_id");
    expect(stage.logs[0]?.bytes_in).toBe(JSON.stringify(chatBody({ temperature: 0 })).length);
    expect(stage.logs[0]?.bytes_out).toBeGreaterThan(100);
  });

  it("is one line for a stream, written when it has ended, with its tokens and first byte", async () => {
    const stage = new Stage();
    const response = await stage.send({ path: "/v1/chat/completions", body: chatBody({ stream: true }) });
    expect(stage.logs).toHaveLength(0);
    const body = await response.arrayBuffer();
    await expect.poll(() => stage.logs.length).toBe(1);
    expect(stage.logs[0]).toMatchObject({
      stream: true,
      status: 200,
      completion_tokens: 4,
      bytes_out: body.byteLength,
    });
    expect(stage.logs[0]?.ttft_ms).toBeTypeOf("number");
  });

  it("holds the request once its client has left, which would end it unwritten", async () => {
    const stage = new Stage();
    stage.ai.replyWith(() => new Promise<Response>(() => {}));
    const kept: Promise<unknown>[] = [];
    const ctx = { waitUntil: (work: Promise<unknown>) => void kept.push(work) } as unknown as ExecutionContext;
    const client = new AbortController();
    const asked = { path: "/v1/chat/completions", body: chatBody(), signal: client.signal };
    const answer = stage.send(asked, ctx);
    await expect.poll(() => stage.ai.runs.length).toBe(1);
    expect(kept).toEqual([]);
    client.abort();
    expect(kept).not.toEqual([]);
    await Promise.all([...kept, answer]);
    expect(stage.requestLogs).toHaveLength(1);
    expect(stage.points).toHaveLength(1);
  });

  it("names the error of a request that failed", async () => {
    const stage = new Stage();
    stage.ai.replyWith(refuse(429, 3040, "Capacity temporarily exceeded"));
    await stage.chat();
    expect(stage.logs[0]).toMatchObject({ status: 429, error: "upstream_out_of_capacity" });
  });

  it("holds neither prompt, answer nor key", async () => {
    const stage = new Stage();
    stage.ai.replyWith(answerWith("a secret answer"));
    await stage.chat(asking());
    await stage.chat(asking({ stream: true }));
    await stage.chat(asking({ temperature: "hot" }));
    const text = JSON.stringify([stage.logs, stage.points]);
    expect(stage.logs).toHaveLength(3);
    for (const secret of [SECRET_PROMPT, "a secret answer", KEY]) expect(text).not.toContain(secret);
  });

  it("holds the prompt on a stage that says so", async () => {
    const stage = new Stage({ log: { prompts: true } });
    await stage.chat(asking());
    expect(stage.logs[0]?.prompt).toBe(SECRET_PROMPT);
  });

  it("masks keys in a prompt and in a path, answered or not", async () => {
    const secret = "sk-slw-0123456789-abcdefghijklmnop";
    const stage = new Stage({ log: { prompts: true }, conversations: { enabled: true } });
    await stage.chat({ messages: [{ role: "user", content: `My key is ${secret}` }] });
    await stage.ask({ path: `/v1/${secret}` });
    await stage.ask({ path: `/v1/models/${secret}`, headers: { authorization: "" } });
    await stage.ask({ path: `/v1/conversations/${secret}`, method: "DELETE" });
    await stage.ask({ path: `/v1/responses/${secret}`, method: "DELETE" });
    expect(stage.requestLogs.map(({ status }) => status)).toEqual([200, 404, 401, 200, 200]);
    expect(stage.logs[0]?.prompt).toMatch(/^My key is /);
    expect(JSON.stringify([stage.logs, stage.points])).not.toContain("abcdefghijklmnop");
  });

  it("names the caller's id only once it was let in", async () => {
    const stage = new Stage();
    await stage.chat({}, { authorization: "Bearer wrong" });
    expect(stage.logs[0]).toMatchObject({ status: 401, key_id: "anonymous", via: null, error: "invalid_api_key" });
    expect(stage.logs[0]?.refusal).toBe("wrong_key");
  });

  it("calls a stream whose client left no error of ours, and one that broke off an error", async () => {
    const stage = new Stage();
    stage.ai.replyWith(() => stall(["one ", "two "]));
    const response = await stage.send({ path: "/v1/chat/completions", body: chatBody({ stream: true }) });
    await response.body?.cancel();
    await expect.poll(() => stage.requestLogs.length).toBe(1);
    expect(stage.requestLogs[0]).toMatchObject({ level: "info", error: "client_disconnected" });
    stage.ai.replyWith(() => streamOf([new TextEncoder().encode(`data: ${delta("one")}\n\n`)], new Error("reset")));
    await stage.chat({ stream: true });
    expect(stage.requestLogs[1]).toMatchObject({ level: "error", status: 200, error: "upstream_broken" });
  });

  it("has metrics whose places never move", async () => {
    const stage = new Stage();
    await stage.chat({ temperature: 0 });
    const { blobs, doubles } = stage.points[0] ?? {};
    const line = stage.logs[0] ?? {};
    const labels = [
      ...["model", "version", "variant", "release", "worker_version", "cache", "error", "method", "key_id"],
      ...["team", "fallback", "fallback_reason", "guard", "path", "degraded"],
    ];
    expect(blobs).toEqual(labels.map((name) => (line[name] === null ? "" : String(line[name]))));
    const numbers = [
      ...["status", "total_ms", "ttft_ms", "prompt_tokens", "completion_tokens", "bytes_in", "bytes_out", "stream"],
      ...["usage_estimated", "cost_usd", "retries", "guard_score", "cached_tokens"],
    ];
    const unknown: Record<string, number> = { ttft_ms: -1, guard_score: -1 };
    expect(doubles).toEqual(numbers.map((name) => Number(line[name] ?? unknown[name] ?? 0)));
  });

  it("writes one metrics point a request, and survives a dataset that fails", async () => {
    const stage = new Stage();
    await stage.chat();
    expect(stage.points).toHaveLength(1);
    expect(stage.points[0]?.indexes).toEqual(["chat"]);
    expect(stage.points[0]?.blobs?.slice(0, 4)).toEqual(["chat", "1", "pinned", "r-0123456789ab"]);
    expect(stage.points[0]?.doubles?.[0]).toBe(200);
    const broken: AnalyticsEngineDataset = {
      writeDataPoint: () => {
        throw new Error("too many points");
      },
    };
    expect((await new Stage({}, { METRICS: broken }).chat()).status).toBe(200);
  });
});
