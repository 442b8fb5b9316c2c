import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { bookedIn } from "../../test/support/budget.ts";
import { type AiRun, answerWith, delta, refuse, streamOf } from "../../test/support/fake-ai.ts";
import { chatBody, eventsOf, Stage, textOfEvents } from "../../test/support/stage.ts";

const PATH = "/v1/chat/completions";
const USD_IN = 1;
const USD_OUT = 1_000;
const encoder = new TextEncoder();
const said = (text: string) => encoder.encode(`data: ${delta(text)}\n\n`);

/** A stage whose `chat` is priced, and whose `small`, which stands in, costs a tenth. */
function stageOf(name: string, changes: Record<string, unknown> = {}): Stage {
  const model = (id: string, factor: number, more: object = {}) => ({
    task: "chat",
    versions: {
      "1": { backend: "workers-ai", id, price: { input: USD_IN * factor, output: USD_OUT * factor } },
    },
    split: [[1, 100]],
    ...more,
  });
  const stage = new Stage({
    stage: name,
    models: { chat: model("@cf/chat", 1, { fallback: ["small"] }), small: model("@cf/small", 0.1) },
    budgets: { limits: [{ scope: "stage", period: "day", usd: 1_000 }] },
    resilience: { attempts: 2 },
    ...changes,
  });
  stage.chance = () => 0;
  return stage;
}

/** A stream of 50 tokens, one each `every` ms, then what it came to; notes whether it was given up. */
function slowly(every: number, ended: { cancelled?: boolean }, tokens = 50): (run: AiRun) => Response {
  return () => {
    let index = 0;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (index++ < tokens) {
          await scheduler.wait(every);
          controller.enqueue(said(`word${index} `));
        } else await new Promise(() => {});
      },
      cancel: () => {
        ended.cancelled = true;
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
}

interface Line {
  error: string | null;
  prompt_tokens: number;
  completion_tokens: number;
  cost_usd: number;
  usage_estimated: boolean;
}

const lineOf = (stage: Stage) => stage.requestLogs[0] as unknown as Line;
const priceOf = (line: Line, factor = 1) =>
  ((line.prompt_tokens * USD_IN + line.completion_tokens * USD_OUT) * factor) / 1e6;

/** That the stage's ledger holds exactly what the log line says, and nothing is left reserved. */
async function isBooked(name: string, line: Line): Promise<void> {
  await expect.poll(async () => (await bookedIn(`${name}/stage/`)).nanos).toBe(Math.round(line.cost_usd * 1e9));
}

describe("a client that leaves", () => {
  it.each([
    ["cancels", "cancel"],
    ["is gone, as the request's signal tells", "signal"],
  ])("gw_17 in the middle of a stream (%s) stops the model at once, and pays what it had", async (_, how) => {
    const name = `left-${how}`;
    const stage = stageOf(name);
    const ended: { cancelled?: boolean } = {};
    stage.ai.replyWith(slowly(20, ended));
    const client = new AbortController();
    const ctx = createExecutionContext();
    const asked = { path: PATH, body: chatBody({ model: "chat", stream: true }), signal: client.signal };
    const response = await stage.send(asked, ctx);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    for (let piece = 0; piece < 10; piece++) await reader.read();
    if (how === "signal") client.abort();
    else await reader.cancel("gone");
    // Long before the gateway would give up a silent model by itself.
    await expect.poll(() => ended.cancelled, { timeout: 10_000 }).toBe(true);
    await expect.poll(() => stage.requestLogs.length).toBe(1);
    const line = lineOf(stage);
    expect(line).toMatchObject({ error: "client_disconnected", usage_estimated: true });
    // `word7 ` is two or three tokens by estimate.
    expect(line.completion_tokens).toBeGreaterThanOrEqual(10);
    expect(line.completion_tokens).toBeLessThanOrEqual(36);
    expect(line.prompt_tokens).toBeGreaterThan(0);
    expect(line.cost_usd).toBeCloseTo(priceOf(line), 9);
    await waitOnExecutionContext(ctx);
    await isBooked(name, line);
  });

  it("gw_17 after all the content, but before the usage, pays for the whole answer", async () => {
    const stage = stageOf("left-late");
    stage.ai.replyWith(slowly(0, {}, 50));
    const ctx = createExecutionContext();
    const response = await stage.send({ path: PATH, body: chatBody({ model: "chat", stream: true }) }, ctx);
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    for (let text = ""; !text.includes("word50 "); ) text += decoder.decode((await reader.read()).value);
    await reader.cancel("gone");
    await expect.poll(() => stage.requestLogs.length).toBe(1);
    const line = lineOf(stage);
    expect(line.completion_tokens).toBeGreaterThanOrEqual(50);
    await waitOnExecutionContext(ctx);
    await isBooked("left-late", line);
  });

  it.each([true, false])(
    "gw_17 before the answer begins (stream: %s) pays for the prompt, and what the model may have said",
    async (stream) => {
      const name = `left-early-${stream}`;
      const stage = stageOf(name);
      stage.ai.replyWith(() => new Promise<Response>(() => {}));
      const client = new AbortController();
      const ctx = createExecutionContext();
      const asked = { path: PATH, body: chatBody({ model: "chat", stream, max_tokens: 20 }), signal: client.signal };
      const answer = stage.send(asked, ctx);
      await expect.poll(() => stage.ai.runs.length).toBe(1);
      await scheduler.wait(60);
      client.abort();
      await answer.catch(() => {});
      expect(stage.ai.lastRun.aborted).toBe(true);
      await expect.poll(() => stage.requestLogs.length).toBe(1);
      const line = lineOf(stage);
      expect(line).toMatchObject({ error: "client_disconnected", usage_estimated: true });
      expect(line.prompt_tokens).toBeGreaterThan(0);
      expect(line.completion_tokens).toBeGreaterThan(5);
      expect(line.completion_tokens).toBeLessThanOrEqual(20);
      expect(line.cost_usd).toBeCloseTo(priceOf(line), 9);
      await waitOnExecutionContext(ctx);
      await isBooked(name, line);
    },
  );
});

describe("a request's price", () => {
  it("is that of all that the model said, also of what the client may not see", async () => {
    const stage = stageOf("hidden", { guard: { blocklist: ["forbidden"] } });
    stage.ai.replyWith(answerWith("seen forbidden word after word after word", { usage: false }));
    const events = await eventsOf(await stage.chat({ model: "chat", stream: true }));
    expect(textOfEvents(events).trim()).toBe("seen");
    expect(lineOf(stage).completion_tokens).toBeGreaterThanOrEqual(7);
  });

  it.each([false, true])(
    "gw_17 is the stand-in's when that answered, and the failed calls' nothing (%s)",
    async (stream) => {
      const name = `stand-in-${stream}`;
      const stage = stageOf(name);
      stage.ai.replyWith((run) => (run.model === "@cf/small" ? answerWith("a b c") : refuse(500, 3043, "oops"))(run));
      const response = await stage.chat({ model: "chat", stream });
      expect(response.headers.get("x-sluiceway-model")).toBe("small@1");
      const line = lineOf(stage);
      expect(line).toMatchObject({ completion_tokens: 3, prompt_tokens: 7, usage_estimated: false });
      expect(line.cost_usd).toBeCloseTo(priceOf(line, 0.1), 9);
      await isBooked(name, line);
    },
  );

  it("is what was streamed when the answer breaks off", async () => {
    const stage = stageOf("broken");
    stage.ai.replyWith(() => streamOf([said("one "), said("two ")], new Error("reset")));
    expect((await eventsOf(await stage.chat({ model: "chat", stream: true }))).at(-1)).toHaveProperty("error");
    const line = lineOf(stage);
    expect(line).toMatchObject({ error: "upstream_broken", usage_estimated: true });
    expect(line.completion_tokens).toBeGreaterThan(0);
    expect(line.cost_usd).toBeCloseTo(priceOf(line), 9);
    await isBooked("broken", line);
  });

  it("is nothing when every call failed", async () => {
    const stage = stageOf("failed");
    stage.ai.replyWith(refuse(500, 3043, "oops"));
    expect((await stage.chat({ model: "chat" })).status).toBe(502);
    expect(lineOf(stage)).toMatchObject({ prompt_tokens: null, cost_usd: null });
    expect(await bookedIn("failed/stage/")).toEqual({ nanos: 0, requests: 0 });
  });
});
