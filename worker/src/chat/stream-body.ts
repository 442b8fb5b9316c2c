import type { Piece } from "../backends/backend.ts";
import { ApiError, asApiError } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";
import { type Ending, onAbort } from "../switch.ts";
import { reportException } from "../telemetry/exceptions.ts";
import { Collector } from "./collect.ts";
import type { StreamFormat } from "./format.ts";
import type { ServedStream } from "./serve.ts";
import { Unread } from "./unread.ts";

const encoder = new TextEncoder();

type Controller = ReadableStreamDefaultController<Uint8Array>;

/** Answers with server-sent events in the endpoint's format. A failure on the way ends the stream with one error event. */
export function streamResponse(c: GatewayContext, served: ServedStream, format: StreamFormat): Response {
  const ended = Promise.withResolvers<void>();
  c.get("record").streamed = true;
  c.get("record").ended = ended.promise;
  return new Response(bodyOf(c, served, new Events(c, served, format), ended.resolve), {
    headers: {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    },
  });
}

/** The events as bytes, at the client's pace; `ended` is called when they are over or the client is gone. */
function bodyOf(
  c: GatewayContext,
  served: ServedStream,
  events: Events,
  ended: () => void,
): ReadableStream<Uint8Array> {
  const record = c.get("record");
  let gone = false;
  let body: Controller | null = null;
  const over = () => {
    unread.stop();
    ended();
  };
  const leave = (reason: unknown) => {
    if (gone) return;
    gone = true;
    unread.stop();
    // Who leaves after the last piece has had the whole answer.
    if (record.usage === null) record.errorCode ??= "client_disconnected";
    served.abort.abort(reason);
    served.pieces.stop();
    // What was streamed has its price, and before anything was the prompt.
    events.settle();
    ended();
  };
  // Who reads no further holds a model, a connection and a share of its budgets for as long as it likes: it has left.
  const unread = new Unread(c.get("gateway").config.timeouts.client_ms, () => {
    const reason = new Error("the client does not read its answer");
    leave(reason);
    body?.error(reason);
  });
  // The runtime tells of a client that left by the request's signal, by cancelling the body, or by both.
  const { signal } = served.abort;
  if (signal.aborted) leave(signal.reason);
  else onAbort(signal, () => clientLeft(signal) && leave(signal.reason));
  const start = (controller: Controller) => {
    body = controller;
    unread.given();
  };
  const pull = async (controller: Controller) => {
    unread.read();
    try {
      const text = await events.next();
      if (gone) return;
      if (text !== "") {
        const bytes = encoder.encode(text);
        record.bytesOut += bytes.byteLength;
        controller.enqueue(bytes);
      }
      if (!events.over) return unread.given();
      controller.close();
      over();
    } catch (error) {
      // Nothing below throws past its own error event; if it does, the request is logged all the same.
      record.errorCode ??= asApiError(error).code;
      over();
      reportException(c, error);
      throw error;
    }
  };
  // Nothing is read ahead of the client, so that its leaving is felt by the backend.
  return new ReadableStream({ start, pull, cancel: leave }, { highWaterMark: 0 });
}

/** The text of a stream, as it comes. */
class Events {
  readonly #c: GatewayContext;
  readonly #served: ServedStream;
  readonly #format: StreamFormat;
  readonly #collector = new Collector();
  #began = false;
  #settled = false;
  /** Whether nothing comes any more. */
  over = false;

  constructor(c: GatewayContext, served: ServedStream, format: StreamFormat) {
    this.#c = c;
    this.#served = served;
    this.#format = format;
  }

  /** The events that come next, at least one until it is over. */
  async next(): Promise<string> {
    try {
      for (;;) {
        // The first word the client waits for; those behind it may come together.
        const { pieces, last } = await this.#served.pieces.next(!this.#began);
        const text = this.#textOf(pieces);
        if (last) return text + this.#end();
        if (text !== "") return text;
      }
    } catch (error) {
      this.over = true;
      const { abort } = this.#served;
      try {
        return clientLeft(abort.signal) ? "" : this.#failure(error);
      } finally {
        this.settle();
      }
    }
  }

  /** Books what was streamed, if nothing was booked yet. */
  settle(): void {
    if (!this.#settled) this.#served.settle(this.#collector, false);
    this.#settled = true;
  }

  #textOf(pieces: readonly Piece[]): string {
    const record = this.#c.get("record");
    let text = "";
    for (const piece of pieces) {
      record.ttftMs ??= this.#c.get("gateway").ambient.now() - record.startedAt;
      this.#collector.add(piece);
      text += this.#format.piece(piece);
    }
    this.#began ||= text !== "";
    return text;
  }

  #end(): string {
    const usage = this.#served.settle(this.#collector, true);
    this.#settled = true;
    this.over = true;
    return this.#format.end(usage);
  }

  #failure(error: unknown): string {
    const record = this.#c.get("record");
    const fault = asApiError(error);
    if (fault !== error) reportException(this.#c, error);
    record.errorCode = fault.code;
    return this.#format.failure(fault.body(record.id));
  }
}

/** A deadline aborts with the error that the client is told; a client that left aborts with anything else. */
function clientLeft(signal: Ending): boolean {
  return signal.aborted && !(signal.reason instanceof ApiError);
}
