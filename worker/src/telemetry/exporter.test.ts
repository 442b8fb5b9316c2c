import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Collector } from "../../test/support/collector.ts";
import { refuse } from "../../test/support/fake-ai.ts";
import { chatBody, Stage } from "../../test/support/stage.ts";
import { headersOf } from "./exporter.ts";
import type { Span } from "./spans.ts";

const ENDPOINT = "https://collector.test/v1/traces";
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const traceparent = (flag = "01") => `00-${TRACE}-00f067aa0ba902b7-${flag}`;

function exporting(otlp: object = {}, bindings: object = {}): Stage {
  const stage = new Stage({ telemetry: { otlp: { endpoint: ENDPOINT, ...otlp } } }, bindings);
  // Ids must differ, as they do by chance.
  stage.chance = Math.random;
  return stage;
}

let collector: Collector;
beforeEach(() => {
  collector = new Collector();
});
afterEach(() => collector.stop());

function spans(): Span[] {
  return collector.parcels.flatMap(({ body }) => {
    const { resourceSpans } = JSON.parse(body) as { resourceSpans: { scopeSpans: { spans: Span[] }[] }[] };
    return resourceSpans.flatMap((resource) => resource.scopeSpans.flatMap((scope) => scope.spans));
  });
}

const attribute = (span: Span | undefined, key: string) =>
  Object.values(span?.attributes.find((one) => one.key === key)?.value ?? {})[0];

describe("the OTLP export", () => {
  it("sends a request's spans to the collector, below the caller's", async () => {
    const stage = exporting();
    await stage.chat({}, { traceparent: traceparent(), tracestate: "vendor=1" });
    expect(collector.parcels).toHaveLength(1);
    expect(collector.parcels[0]?.url).toBe(ENDPOINT);
    expect(collector.parcels[0]?.headers.get("content-type")).toBe("application/json");
    const [own, ...steps] = spans();
    expect(own).toMatchObject({
      traceId: TRACE,
      parentSpanId: "00f067aa0ba902b7",
      traceState: "vendor=1",
      name: "POST /v1/chat/completions",
      kind: 2,
      status: {},
    });
    expect(steps.map(({ name }) => name)).toContain("chat chat");
    expect(new Set(spans().map(({ spanId }) => spanId)).size).toBe(1 + steps.length);
    for (const step of steps) expect(step).toMatchObject({ traceId: TRACE, parentSpanId: own?.spanId });
    expect(attribute(own, "gen_ai.operation.name")).toBe("chat");
    expect(attribute(own, "gen_ai.response.model")).toBe("chat@1");
    expect(attribute(own, "gen_ai.usage.output_tokens")).toBe("4");
    expect(attribute(own, "sluiceway.request_id")).toBe("req-test-1");
    expect(stage.logs[0]?.trace_id).toBe(TRACE);
  });

  it("tells times that lie within the request, in nanoseconds", async () => {
    const before = BigInt(Date.now()) * 1_000_000n;
    await exporting().chat();
    const after = BigInt(Date.now()) * 1_000_000n;
    for (const { startTimeUnixNano: start, endTimeUnixNano: end } of spans()) {
      // Steps are on another clock than the request; a millisecond lies between them.
      expect(BigInt(start)).toBeGreaterThanOrEqual(before - 2_000_000n);
      expect(BigInt(end)).toBeGreaterThanOrEqual(BigInt(start));
      expect(BigInt(end)).toBeLessThanOrEqual(after + 2_000_000n);
    }
  });

  it("tells a streamed answer's call to be as long as the stream", async () => {
    const stage = exporting();
    const ctx = createExecutionContext();
    const response = await stage.send({ path: "/v1/chat/completions", body: chatBody({ stream: true }) }, ctx);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const read = BigInt(Date.now()) * 1_000_000n;
    await response.text();
    await waitOnExecutionContext(ctx);
    const [own] = spans();
    const call = spans().find(({ kind }) => kind === 3);
    expect(call?.endTimeUnixNano).toBe(own?.endTimeUnixNano);
    expect(BigInt(own?.startTimeUnixNano ?? read)).toBeLessThan(read);
    // Not before its text was read. Steps are on another clock; a millisecond lies between them.
    expect(BigInt(own?.endTimeUnixNano ?? 0)).toBeGreaterThanOrEqual(read - 2_000_000n);
  });

  it("gives the backend's own spans the span of the call to hang under", async () => {
    const stage = exporting();
    await stage.chat();
    const told = stage.ai.lastRun.options.extraHeaders.traceparent;
    const call = spans().find(({ kind }) => kind === 3);
    expect(told).toBe(`00-${call?.traceId}-${call?.spanId}-01`);
  });

  it("is one post for requests that end together", async () => {
    const stage = exporting();
    await Promise.all(Array.from({ length: 20 }, () => stage.chat()));
    expect(stage.ai.runs.length).toBeGreaterThan(0);
    expect(collector.parcels).toHaveLength(1);
    expect(new Set(spans().map(({ traceId }) => traceId)).size).toBe(20);
  });

  it("marks what failed, and holds no text of the prompt", async () => {
    const stage = exporting();
    stage.ai.replyWith(refuse(500, 3043, "Internal server error"));
    await stage.chat({ messages: [{ role: "user", content: "the launch code is 0000" }] });
    const [own] = spans();
    expect(own?.status).toEqual({ code: 2, message: attribute(own, "error.type") });
    expect(collector.parcels[0]?.body).not.toContain("launch code");
  });

  it("sends nothing of a trace that its caller does not sample, or that is outside the share", async () => {
    await exporting().chat({}, { traceparent: traceparent("00") });
    await exporting({ share: 0 }).chat({}, { traceparent: traceparent() });
    await new Stage().chat({}, { traceparent: traceparent() });
    expect(collector.parcels).toHaveLength(0);
  });

  it("sends the headers that the named secret holds", async () => {
    await exporting({ secret: "OTLP_HEADERS" }, { OTLP_HEADERS: "x-team=abc,authorization=Basic%20eA==" }).chat();
    expect(collector.parcels[0]?.headers.get("x-team")).toBe("abc");
    expect(collector.parcels[0]?.headers.get("authorization")).toBe("Basic eA==");
    expect(headersOf("")).toEqual({});
    expect(headersOf("broken,=x, a = 100% ")).toEqual({ a: "100%" });
  });

  it.each([
    ["refuses", () => new Response("no", { status: 500 })],
    ["can't be reached", () => Promise.reject(new TypeError("secret inside"))],
  ])("costs no request anything when the collector %s, and the log tells it once", async (_, answer) => {
    const stage = exporting();
    collector.answer = answer;
    for (let count = 0; count < 2; count += 1) expect((await stage.chat()).status).toBe(200);
    const told = stage.logs.filter((line) => line.event === "telemetry");
    expect(told).toEqual([{ event: "telemetry", level: "warn", what: "otlp", reason: expect.any(String) }]);
    expect(JSON.stringify(stage.logs)).not.toContain("secret inside");
  });

  it("leaves a collector alone for as long as it asks", async () => {
    const stage = exporting();
    collector.answer = () => new Response(null, { status: 429, headers: { "retry-after": "120" } });
    await stage.chat();
    stage.ahead = 60_000;
    await stage.chat();
    expect(collector.parcels).toHaveLength(1);
    stage.ahead = 130_000;
    await stage.chat();
    expect(collector.parcels).toHaveLength(2);
  });

  it("is taken over when the request that was to send the batch died", async () => {
    const stage = exporting();
    const dead = { waitUntil: () => {}, passThroughOnException: () => {} } as unknown as ExecutionContext;
    const work: Promise<unknown>[] = [];
    const alive = { ...dead, waitUntil: (promise: Promise<unknown>) => void work.push(promise) } as ExecutionContext;
    // Its time stands still, as that of a request whose client left.
    const real = globalThis.setTimeout;
    const stuck = (step: () => void, ms: number) => (ms >= 100 ? 0 : real(step, ms));
    globalThis.setTimeout = stuck as unknown as typeof setTimeout;
    await stage.send({ path: "/healthz" }, dead);
    await expect.poll(() => stage.requestLogs.length).toBe(1);
    globalThis.setTimeout = real;
    stage.ahead = 6_000;
    await stage.send({ path: "/v1/models", body: chatBody() }, alive);
    await expect.poll(() => work.length).toBe(1);
    await Promise.all(work);
    expect(new Set(spans().map(({ traceId }) => traceId)).size).toBe(2);
  });
});

describe("server-timing", () => {
  it("names the trace, so that a page's own spans can join it", async () => {
    const { headers } = await exporting().chat({}, { traceparent: traceparent() });
    expect(headers.get("server-timing")).toMatch(new RegExp(`traceparent;desc="00-${TRACE}-[0-9a-f]{16}-01"$`));
    expect((await new Stage().chat()).headers.get("server-timing")).not.toContain("traceparent");
  });
});
