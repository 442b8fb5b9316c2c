import { afterEach, describe, expect, it, vi } from "vitest";
import { call, embedCall, openAi } from "../../test/support/backend-kits.ts";
import { answerWith, sse } from "../../test/support/fake-ai.ts";
import { FakeOpenAi } from "../../test/support/fake-openai.ts";
import { errorOf, Stage } from "../../test/support/stage.ts";
import type { Answer, Call } from "./backend.ts";
import { OpenAi } from "./openai.ts";

const kit = openAi(null);
const version = { backend: "openai", id: "kimi", base_url: "https://up.test/v1", secret: "UPSTREAM_KEY" };

function asked(changes: Partial<Call> = {}): { server: FakeOpenAi; run: Promise<Answer> } {
  const server = new FakeOpenAi();
  server.replyWith(answerWith("ok"));
  return { server, run: new OpenAi(server).complete(call(kit, { version, ...changes })) };
}

describe("openai backend", () => {
  it("asks the server of the version with its secret, and follows no redirect with them", async () => {
    const { server, run } = asked();
    await run;
    expect(server.last).toMatchObject({ path: "https://up.test/v1/chat/completions", gateway: null });
    expect(server.last.headers).toMatchObject({
      authorization: "Bearer up-secret",
      "content-type": "application/json",
      "x-session-affinity": "s1",
    });
    expect(server.inits[0]).toMatchObject({ method: "POST", redirect: "manual" });
  });

  it("sends no authorization where the version names no secret", async () => {
    const { server, run } = asked({ version: { ...version, secret: null } });
    await run;
    expect(server.last.headers).not.toHaveProperty("authorization");
  });

  it.each([
    ["openai", "openai", "chat/completions"],
    ["custom-up/v1", "custom-up", "v1/chat/completions"],
    ["custom-up/api/v2", "custom-up", "api/v2/chat/completions"],
  ])("asks %s through the stage's AI Gateway", async (provider, name, endpoint) => {
    const { server, run } = asked({ version: { ...version, provider }, gateway: "gw" });
    await run;
    expect(server.last).toMatchObject({ path: `${name}: ${endpoint}`, gateway: "gw" });
    expect(server.last.headers.authorization).toBe("Bearer up-secret");
  });

  it("asks the server itself where the stage has no AI Gateway", async () => {
    const { server, run } = asked({ version: { ...version, provider: "custom-up/v1" }, gateway: null });
    await run;
    expect(server.last).toMatchObject({ path: "https://up.test/v1/chat/completions", gateway: null });
  });

  it.each([
    ["a secret that is not set", { ...version, secret: "ABSENT_KEY" }, "the secret `ABSENT_KEY` is not set"],
    ["no way to the server", { ...version, base_url: null, provider: "openai" }, "through an AI Gateway alone"],
  ])("says of %s that the model can't be asked", async (_, changed, words) => {
    const { server, run } = asked({ version: changed });
    const error = await run.catch((thrown) => thrown);
    expect(error).toMatchObject({ status: 503, code: "backend_not_configured", lasting: true });
    expect(error.message).toContain(words);
    expect(server.seen).toEqual([]);
  });

  it.each([
    ["https://api.openai.com/v1", null, "max_completion_tokens"],
    ["https://api.openai.com.evil.test/v1", null, "max_tokens"],
    [null, "openai", "max_completion_tokens"],
    ["https://up.test/v1", "custom-up/v1", "max_tokens"],
  ])("gw_09 caps the answer of %s %s by %s", async (base_url, provider, field) => {
    const { server, run } = asked({ version: { ...version, base_url, provider }, gateway: "gw" });
    await run;
    const caps = Object.entries(server.last.inputs).filter(([name]) => name.startsWith("max_"));
    expect(caps).toEqual([[field, 100]]);
  });

  it("passes what vLLM, GLM and Qwen have added", async () => {
    const added = { min_p: 0.1, thinking: { type: "enabled" }, enable_thinking: true };
    const { server, run } = asked({ parameters: { max_tokens: 9, ...added, user: "ada", metadata: {} } });
    await run;
    expect(server.last.inputs).toMatchObject(added);
    expect(server.last.inputs).not.toHaveProperty("user");
    expect(server.last.inputs).not.toHaveProperty("metadata");
  });

  it("passes what makes vLLM compile a grammar only where the version says that clients may", async () => {
    const grammars = {
      guided_json: { type: "object" },
      guided_regex: "(a+)+$",
      guided_choice: ["a"],
      guided_grammar: "root ::= x",
      structured_outputs: { regex: "(a+)+$" },
    };
    const parameters = { max_tokens: 9, ...grammars };
    for (const guided of [undefined, null, false]) {
      const { server, run } = asked({ version: { ...version, guided }, parameters });
      await run;
      for (const name of Object.keys(grammars)) expect(server.last.inputs).not.toHaveProperty(name);
    }
    const { server, run } = asked({ version: { ...version, guided: true }, parameters });
    await run;
    expect(server.last.inputs).toMatchObject(grammars);
  });

  const refused = async (response: Response) => {
    const server = new FakeOpenAi();
    server.replyWith(() => response);
    return new OpenAi(server).stream(call(kit, { version })).catch((thrown) => thrown);
  };

  it.each([401, 403, 302, 500])("keeps what a server says with a %d to itself", async (status) => {
    const error = await refused(Response.json({ error: { message: "Incorrect API key: up-secret" } }, { status }));
    expect(error.status).toBe(502);
    expect(JSON.stringify(error.body("r"))).not.toContain("up-secret");
    expect(error.cause.message).toContain("Incorrect API key");
  });

  it("names the field that a server found fault with, but for messages, whose places differ", async () => {
    const body = (param: string) => Response.json({ error: { message: "no", param, code: "x" } }, { status: 400 });
    expect(await refused(body("top_p"))).toMatchObject({ status: 400, param: "top_p" });
    expect(await refused(body("messages[1].content"))).toMatchObject({ status: 400, param: null });
  });

  it.each([
    [400, { error: { message: "x", code: "context_length_exceeded" } }],
    [400, { object: "error", message: "This model's maximum context length is 4096 tokens.", code: 400 }],
    [400, { error: { message: "the request exceeds the available context size", type: "exceed_context_size_error" } }],
    [413, { error: { message: "prompt is too long: 210000 tokens > 200000 maximum" } }],
    [422, { detail: "too many tokens" }],
  ])("gw_13 tells a prompt that is too long by what a server says with %d: %j", async (status, body) => {
    expect(await refused(Response.json(body, { status }))).toMatchObject({
      status: 400,
      code: "context_length_exceeded",
    });
  });

  it.each([
    ["FastAPI", { detail: [{ loc: ["body", "n"], msg: "too large" }] }, '[{"loc":["body","n"],"msg":"too large"}]'],
    ["vLLM", { object: "error", message: "n must be 1", code: 400 }, "n must be 1"],
    ["AI Gateway", { success: false, error: [{ code: 2005, message: "Failed to get a response" }] }, "Failed to get"],
    ["Cloudflare", { success: false, errors: [{ code: 7003, message: "No route" }] }, "No route"],
    ["one that sends a text", { error: "n must be 1" }, "n must be 1"],
    ["one that says nothing", {}, "no reason given"],
  ])("reads a refusal of %s", async (_, body, words) => {
    const error = await refused(Response.json(body, { status: 422 }));
    expect(error).toMatchObject({ status: 422, code: "invalid_request" });
    expect(error.message).toContain(words);
  });

  it("tells a spent quota from a rate limit", async () => {
    const body = { error: { message: "You exceeded your current quota", code: "insufficient_quota" } };
    const error = await refused(Response.json(body, { status: 429 }));
    expect(error).toMatchObject({ status: 429, code: "upstream_quota_exceeded", lasting: true });
  });

  it.each([
    ["a failure", { error: { message: "x" } }, "upstream_broken"],
    ["a whole answer", { choices: [{ index: 0, message: { content: "x" }, finish_reason: "stop" }] }, "upstream_error"],
  ])("calls %s in JSON, where a stream was asked for, a failure", async (_, body, code) => {
    expect(await refused(Response.json(body))).toMatchObject({ status: 502, code });
  });

  it("reads an event without choices, as some send in front", async () => {
    const server = new FakeOpenAi();
    const said = JSON.stringify({ choices: [{ index: 0, delta: { content: "a" }, finish_reason: "stop" }] });
    server.replyWith(() => sse(['{"prompt_filter_results":[]}', said, "[DONE]"]));
    const pieces = [];
    for await (const piece of await new OpenAi(server).stream(call(kit, { version }))) pieces.push(piece);
    expect(pieces.map(({ choices }) => choices.length)).toEqual([0, 1]);
  });

  it("embeds texts and tokens, in floats, of the length that is asked for", async () => {
    const server = new FakeOpenAi();
    server.replyWith(() => Response.json({ data: [{ index: 0, embedding: [1, 0] }] }));
    const changes = { version, input: [[1, 2, 3]], dimensions: 2 };
    await new OpenAi(server).embed(embedCall(kit, changes));
    expect(server.last.path).toBe("https://up.test/v1/embeddings");
    expect(server.last.inputs).toEqual({ model: "kimi", input: [[1, 2, 3]], encoding_format: "float", dimensions: 2 });
    expect(server.last.headers).not.toHaveProperty("x-session-affinity");
  });
});

describe("a stage with an openai version", () => {
  afterEach(() => vi.unstubAllGlobals());
  const far = { task: "chat", versions: { "1": { ...version, secret: "UPSTREAM_KEY" } }, split: [[1, 100]] };

  it("answers by it, with a secret of its own bindings", async () => {
    const server = new FakeOpenAi();
    server.replyWith(answerWith("from afar"));
    vi.stubGlobal("fetch", (url: string, init: RequestInit) => server.fetch(url, init));
    const stage = new Stage({ models: { far } }, { UPSTREAM_KEY: "bound" } as object);
    const answer = await stage.chat({ model: "far" });
    expect(answer.headers.get("x-sluiceway-model")).toBe("far@1");
    expect(await answer.json()).toMatchObject({ choices: [{ message: { content: "from afar" } }] });
    expect(server.last.headers.authorization).toBe("Bearer bound");
  });

  it("says which secret it lacks, and to no one what the others are", async () => {
    const stage = new Stage({ models: { far } }, { OTHER: "bound" } as object);
    const answer = await stage.chat({ model: "far" });
    expect(answer.status).toBe(503);
    expect((await errorOf(answer)).message).toContain("`UPSTREAM_KEY` is not set");
  });
});
