import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Collector } from "../../test/support/collector.ts";
import { Stage } from "../../test/support/stage.ts";
import { framesOf, parseDsn } from "./sentry.ts";

const DSN = "https://0123456789abcdef@o1.ingest.sentry.test/42";
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const ARTIFACT = { path: "/v1/models/intent/artifacts/1/model.onnx" };

/** A stage whose artifacts can't be read, which nobody foresaw. */
function failing(error: unknown, changes: object = { telemetry: { sentry: true } }, dsn: string | null = DSN): Stage {
  const bucket = { get: () => Promise.reject(error) } as unknown as R2Bucket;
  return new Stage(
    { limits: { body_bytes: 1000, requests: 999, period: 60 }, ...changes },
    {
      MODELS: bucket,
      ...(dsn !== null && { SENTRY_DSN: dsn }),
    },
  );
}

let collector: Collector;
beforeEach(() => {
  collector = new Collector();
});
afterEach(() => collector.stop());

type Json = Record<string, unknown>;

interface Reported extends Json {
  event_id: string;
  exception: { values: { type: string; value: string; stacktrace: { frames: Json[] } }[] };
}

const parts = () => (collector.parcels[0]?.body ?? "").trimEnd().split("\n");
const event = () => JSON.parse(parts()[2] ?? "{}") as Reported;

describe("an unhandled exception", () => {
  it("goes to Sentry as one envelope, which says what was asked of whom", async () => {
    const stage = failing(new RangeError("secret inside"));
    await stage.ask({ ...ARTIFACT, headers: { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` } });
    expect(collector.parcels).toHaveLength(1);
    expect(collector.parcels[0]?.url).toBe("https://o1.ingest.sentry.test/api/42/envelope/");
    expect(collector.parcels[0]?.headers.get("x-sentry-auth")).toMatch(/sentry_key=0123456789abcdef$/);
    expect(parts()).toHaveLength(3);
    expect(JSON.parse(parts()[0] ?? "")).toMatchObject({ event_id: event().event_id });
    expect(JSON.parse(parts()[1] ?? "")).toEqual({ type: "event" });
    expect(event()).toMatchObject({
      level: "error",
      environment: "test",
      release: "r-0123456789ab",
      transaction: `GET ${ARTIFACT.path}`,
      tags: { request_id: "req-test-1", worker_version: "11111111-test" },
      contexts: { trace: { trace_id: TRACE } },
    });
    expect(event().event_id).toMatch(/^[0-9a-f]{32}$/);
  });

  it("is told by type and place, causes first, and never by its text", async () => {
    const cause = new TypeError("the launch code is 0000");
    await failing(new RangeError("secret inside", { cause })).ask(ARTIFACT);
    const { values } = event().exception;
    expect(values.map(({ type }) => type)).toEqual(["TypeError", "RangeError"]);
    const frame = values[1]?.stacktrace.frames.at(-1);
    expect(frame).toMatchObject({ abs_path: "app:///sentry.test.ts", in_app: true });
    expect(frame?.lineno).toBeGreaterThan(1);
    for (const secret of ["secret inside", "launch code", "test-key"]) {
      expect(collector.parcels[0]?.body).not.toContain(secret);
    }
  });

  it("may be anything that was thrown", async () => {
    for (const thrown of ["secret inside", null, { message: "secret inside" }]) {
      expect((await failing(thrown).ask(ARTIFACT)).status).toBe(500);
    }
    expect(collector.parcels).toHaveLength(3);
    expect(JSON.stringify(collector.parcels)).not.toContain("secret inside");
  });

  it("goes nowhere without the setting, without the secret, or with one that is no DSN", async () => {
    const error = new RangeError("inside");
    for (const stage of [failing(error, {}), failing(error, undefined, null), failing(error, undefined, "nonsense")]) {
      expect((await stage.ask(ARTIFACT)).status).toBe(500);
      expect(stage.logs.filter((line) => line.event === "exception")).toHaveLength(1);
    }
    expect(collector.parcels).toHaveLength(0);
  });

  it("is reported for 20 requests a minute at most", async () => {
    const stage = failing(new RangeError("inside"));
    // From a minute's begin, so that it does not turn meanwhile.
    stage.ahead = 60_000 - (Date.now() % 60_000);
    for (let count = 0; count < 25; count += 1) await stage.ask(ARTIFACT);
    expect(collector.parcels).toHaveLength(20);
    stage.ahead += 60_000;
    await stage.ask(ARTIFACT);
    expect(collector.parcels).toHaveLength(21);
  });

  it("is none that the client caused", async () => {
    const stage = failing(new RangeError("inside"));
    await stage.ask({ path: "/v1/nowhere" });
    await stage.chat({ temperature: "hot" });
    expect(collector.parcels).toHaveLength(0);
  });

  it("costs the client nothing more when Sentry is down", async () => {
    collector.answer = () => Promise.reject(new TypeError("no route"));
    const stage = failing(new RangeError("inside"));
    expect((await stage.ask(ARTIFACT)).status).toBe(500);
    expect(stage.logs.find(({ event }) => event === "telemetry")).toEqual({
      event: "telemetry",
      level: "warn",
      what: "sentry",
      reason: "TypeError",
    });
  });
});

it.each([
  ["https://key@host.test/prefix/7", { url: "https://host.test/prefix/api/7/envelope/", key: "key" }],
  [" http://key@localhost:9000/7\n", { url: "http://localhost:9000/api/7/envelope/", key: "key" }],
  ["https://host.test/7", null],
  ["https://key@host.test/", null],
  ["ftp://key@host.test/7", null],
])("a DSN %j is %j", (dsn, target) => expect(parseDsn(dsn)).toEqual(target));

it("frames of a stack are its places alone, also when the message looks like one", () => {
  const error = new Error("one\n    at secret (place)\ntwo");
  error.stack = "Error: one\n    at secret (place)\ntwo\n    at run (file:///index.js:12:3)\n    at async index.js:4:5";
  expect(framesOf(error)).toEqual(["    at run (file:///index.js:12:3)", "    at async index.js:4:5"]);
});
