import { describe, expect, it } from "vitest";
import { bookedIn, pricedConfig } from "../../test/support/budget.ts";
import { type AiRun, answerWith, delta, refuse, stall, streamOf } from "../../test/support/fake-ai.ts";
import { errorOf, eventsOf, Stage, textOfEvents } from "../../test/support/stage.ts";

type Json = Record<string, unknown>;
type Reply = (run: AiRun) => Response | Promise<Response>;

const encoder = new TextEncoder();
const STREAM = { stream: true, temperature: 0 };

describe("the bytes of a stream", () => {
  const TEXTS = ["北京", "🦊", " ok"];
  const DONE = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}';

  it.each([
    ["LF", "\n"],
    ["CRLF", "\r\n"],
  ])("gw_01 give the client the same text wherever they are cut, ended by %s", async (_, end) => {
    const events = [...TEXTS.map(delta), DONE, "[DONE]"].map((data) => `data: ${data}${end}${end}`);
    const bytes = encoder.encode(events.join(""));
    const stage = new Stage({ cache: { enabled: false, ttl: 0 } });
    // Each cut by itself is the decoder's own test.
    const sizes = [...Array.from({ length: 24 }, (_, index) => index + 1), bytes.length];
    for (const size of sizes) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.slice(at * size, (at + 1) * size),
      );
      stage.ai.replyWith(() => streamOf(chunks));
      const text = await (await stage.chat(STREAM)).text();
      expect(text).not.toContain("\ufffd");
      expect(textOfEvents(await eventsOf(new Response(text)))).toBe("北京🦊 ok");
      expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    }
  });
});

describe("the usage of a stream", () => {
  it.each([
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ])("gw_02 is asked for and booked, whether the client asks (%s) and whether it is told (%s)", async (asked, told) => {
    const name = `usage-${asked}-${told}`;
    const stage = new Stage(pricedConfig(name));
    stage.ai.replyWith(answerWith("a b c", { usage: told }));
    const options = asked ? { stream_options: { include_usage: true } } : {};
    const events = await eventsOf(await stage.chat({ stream: true, ...options }));
    expect(stage.ai.lastRun.inputs.stream_options).toEqual({ include_usage: true });
    const [line] = stage.requestLogs;
    expect(line).toMatchObject({ usage_estimated: !told });
    const cost = (Number(line?.prompt_tokens) + 1_000 * Number(line?.completion_tokens)) / 1e6;
    expect(cost).toBeGreaterThan(0);
    expect(line?.cost_usd).toBeCloseTo(cost, 9);
    expect((await bookedIn(`${name}/stage/`)).nanos).toBe(Math.round(cost * 1e9));
    if (asked) expect(events.at(-2)?.usage).toMatchObject(told ? {} : { estimated: true });
  });
});

describe("a stream that ends badly", () => {
  const two = () => encoder.encode(`data: ${delta("two ")}\n\ndata: ${delta("tokens")}\n\n`);
  it.each<[string, Reply, string]>([
    ["is reset", () => streamOf([two()], new Error("connection reset")), "upstream_broken"],
    ["falls silent", () => stall(["two ", "tokens"]), "upstream_timeout"],
  ])(
    "gw_03 because it %s: what came, one error, the end at once, a failure in the log, nothing kept",
    async (_, reply, code) => {
      const stage = new Stage({ timeouts: { idle_ms: 50 } });
      stage.ai.replyWith(reply);
      const body = { ...STREAM, messages: [{ role: "user", content: crypto.randomUUID() }] };
      // A stream without an end would be ended by the test's own timeout.
      const response = await stage.chat(body);
      const events = await eventsOf(response);
      expect(response.status).toBe(200);
      expect(textOfEvents(events)).toBe("two tokens");
      expect(events.filter((event) => "error" in event)).toHaveLength(1);
      expect(events.at(-1)).toMatchObject({ error: { code, request_id: "req-test-1" } });
      expect(JSON.stringify(events)).not.toContain('"finish_reason":"stop"');
      expect(events.some(({ done }) => done)).toBe(false);
      expect(stage.requestLogs).toMatchObject([{ level: "error", error: code, stream: true }]);
      stage.ai.replyWith(answerWith("whole"));
      const again = await stage.chat(body);
      expect(again.headers.get("x-sluiceway-cache")).toBe("miss");
      expect(textOfEvents(await eventsOf(again))).toBe("whole");
    },
  );
});

describe("a stream whose connection is reset behind its last word", () => {
  it("gw_03 is whole: an end, no error, an estimate of the usage", async () => {
    const stage = new Stage();
    const end = '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}';
    const all = encoder.encode(`data: ${delta("all of it")}\n\ndata: ${end}\n\n`);
    stage.ai.replyWith(() => streamOf([all], new Error("reset")));
    const events = await eventsOf(await stage.chat({ ...STREAM, stream_options: { include_usage: true } }));
    expect(textOfEvents(events)).toBe("all of it");
    expect(events.some((event) => "error" in event)).toBe(false);
    expect(events.at(-2)).toMatchObject({ choices: [], usage: { estimated: true } });
    expect(events.at(-1)).toEqual({ done: true });
    expect(stage.requestLogs).toMatchObject([{ level: "info", error: null, usage_estimated: true }]);
  });
});

describe("the second turn of a conversation with tools", () => {
  const call = { id: "c1", type: "function", function: { name: "f", arguments: '{"a":1}' } };
  const messages = [
    { role: "user", content: [{ type: "text", text: "a" }, { type: "text", text: "b" }] },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "c1", content: "42" },
    { role: "user", content: "and?" },
  ]; // biome-ignore format: short

  /** As the schemas of several models: text is all that a message may hold. */
  const strict: Reply = (run) => {
    const sent = run.inputs.messages as Json[];
    const fits = sent.every(({ content }) => typeof content === "string");
    return fits ? answerWith("ok")(run) : refuse(400, 5006, "Bad input")(run);
  };

  it.each([false, true])("gw_10 is answered by a model that takes only strings (stream: %s)", async (stream) => {
    const stage = new Stage();
    stage.ai.replyWith(strict);
    expect((await stage.chat({ messages, stream })).status).toBe(200);
    expect((stage.ai.lastRun.inputs.messages as Json[])[1]?.tool_calls).toEqual([call]);
  });

  it("gw_10 is refused with a picture in it, by the field's name, and nobody is asked", async () => {
    const stage = new Stage();
    stage.ai.replyWith(strict);
    const picture = { type: "image_url", image_url: { url: "https://x.test/a.png" } };
    const seen = [{ role: "user", content: [{ type: "text", text: "a" }, picture] }, ...messages.slice(1)];
    const response = await stage.chat({ messages: seen });
    expect(response.status).toBe(400);
    expect(await errorOf(response)).toMatchObject({ param: "messages[0].content[1]" });
    expect(stage.ai.runs).toEqual([]);
  });
});

describe("an output cap", () => {
  const PATHS: [path: string, field: string, body: Json][] = [
    ["/", "max_tokens", { prompt: "Hi", model: "chat@2" }],
    ["/v1/completions", "max_tokens", { prompt: "Hi", model: "chat@2" }],
    ["/v1/responses", "max_output_tokens", { input: "Hi", model: "chat@2" }],
    ["/v1/chat/completions", "max_completion_tokens", { messages: [{ role: "user", content: "Hi" }], model: "chat@2" }],
  ];

  it.each(PATHS)(
    "gw_09 is never Workers AI's own 256 at %s, nor silently another than asked for",
    async (path, field, body) => {
      const stage = new Stage();
      const ask = async (cap: Json) => stage.ask({ path, body: { ...body, ...cap } });
      stage.ai.replyWith(answerWith("word ".repeat(400)));
      for (const cap of [{}, { [field]: null }]) {
        const response = await ask(cap);
        expect(response.status).toBe(200);
        expect((await response.text()).match(/word/g)).toHaveLength(400);
      }
      const cut = await ask({ [field]: 10 });
      expect((await cut.text()).match(/word/g)).toHaveLength(10);
      expect(stage.ai.lastRun.inputs.max_tokens).toBe(10);
      const asked = stage.ai.runs.length;
      for (const cap of [0, -1, "50"]) {
        const refused = await ask({ [field]: cap });
        expect([refused.status, (await errorOf(refused)).param]).toEqual([400, field]);
      }
      expect(stage.ai.runs).toHaveLength(asked);
    },
  );
});
