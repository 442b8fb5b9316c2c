import { ApiError, asApiError } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";
import { reportException } from "../telemetry/exceptions.ts";
import { Collector } from "./collect.ts";
import type { StreamFormat } from "./format.ts";
import type { ServedStream } from "./serve.ts";
import { Unread } from "./unread.ts";

const encoder = new TextEncoder();

/** Answers with server-sent events in the endpoint's format. A failure on the way ends the stream with one error event. */
export function streamResponse(c: GatewayContext, served: ServedStream, format: StreamFormat): Response {
  const ended = Promise.withResolvers<void>();
  c.get("record").streamed = true;
  c.get("record").ended = ended.promise;
  return new Response(bodyOf(c, served, eventsOf(c, served, format), ended.resolve), {
    headers: {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    },
  });
}

type Events = AsyncGenerator<string, void, undefined>;

/** The events as bytes, at the client's pace; `ended` is called when they are over or the client is gone. */
function bodyOf(
  c: GatewayContext,
  served: ServedStream,
  events: Events,
  ended: () => void,
): ReadableStream<Uint8Array> {
  const record = c.get("record");
  let gone = false;
  let body: ReadableStreamDefaultController<Uint8Array> | null = null;
  const over = () => {
    unread.stop();
    ended();
  };
  const leave = async (reason: unknown) => {
    if (gone) return;
    gone = true;
    unread.stop();
    // Who leaves after the last piece has had the whole answer.
    if (record.usage === null) record.errorCode ??= "client_disconnected";
    served.abort.abort(reason);
    await events.return().catch(() => {});
    // A client that left before it read anything: the events never began, but the prompt has its price.
    if (record.usage === null) served.settle(new Collector(), false);
    ended();
  };
  // Who reads no further holds a model, a connection and a share of its budgets for as long as it likes: it has left.
  const unread = new Unread(c.get("gateway").config.timeouts.client_ms, () => {
    const reason = new Error("the client does not read its answer");
    void leave(reason);
    body?.error(reason);
  });
  // The runtime tells of a client that left by the request's signal, by cancelling the body, or by both.
  const { signal } = served.abort;
  if (signal.aborted) void leave(signal.reason);
  else signal.addEventListener("abort", () => void (clientLeft(signal) && leave(signal.reason)));
  const start = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    body = controller;
    unread.given();
  };
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    unread.read();
    const next = await events.next().catch((error: unknown) => {
      // Nothing below throws past its own error event; if it does, the request is logged all the same.
      record.errorCode ??= asApiError(error).code;
      over();
      reportException(c, error);
      throw error;
    });
    if (gone) return;
    if (next.done) {
      controller.close();
      return over();
    }
    const bytes = encoder.encode(next.value);
    record.bytesOut += bytes.byteLength;
    controller.enqueue(bytes);
    unread.given();
  };
  // Nothing is read ahead of the client, so that its leaving is felt by the backend.
  return new ReadableStream({ start, pull, cancel: leave }, { highWaterMark: 0 });
}

async function* eventsOf(c: GatewayContext, served: ServedStream, format: StreamFormat): Events {
  const record = c.get("record");
  const gateway = c.get("gateway");
  const collector = new Collector();
  let settled = false;
  try {
    for await (const piece of served.pieces) {
      record.ttftMs ??= gateway.ambient.now() - record.startedAt;
      collector.add(piece);
      const text = format.piece(piece);
      if (text !== "") yield text;
    }
    const usage = served.settle(collector, true);
    settled = true;
    yield format.end(usage);
  } catch (error) {
    if (clientLeft(served.abort.signal)) return;
    const fault = asApiError(error);
    if (fault !== error) reportException(c, error);
    record.errorCode = fault.code;
    yield format.failure(fault.body(record.id));
  } finally {
    // Also when the client left: what was streamed has its price.
    if (!settled) served.settle(collector, false);
  }
}

/** A deadline aborts with the error that the client is told; a client that left aborts with anything else. */
function clientLeft(signal: AbortSignal): boolean {
  return signal.aborted && !(signal.reason instanceof ApiError);
}
