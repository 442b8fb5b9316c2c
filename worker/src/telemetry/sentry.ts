import type { Ambient } from "../ambient.ts";
import { Outbox, type Parcel } from "./outbox.ts";

/** Most events that an isolate sends in a minute: a fault on a busy path would be as many events as requests. */
const MOST_A_MINUTE = 20;

/** What an event says of its request. No text of a prompt or an answer is among it, nor may be. */
export interface Circumstances {
  readonly stage: string;
  readonly release: string;
  readonly workerVersion: string;
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly model: string | null;
  readonly variant: string | null;
  readonly trace: { readonly traceId: string; readonly spanId: string } | null;
}

/** Reports unhandled exceptions to Sentry by its envelope endpoint. */
export class Sentry {
  readonly #ambient: Ambient;
  readonly #outbox: Outbox;
  #minute = 0;
  #sent = 0;

  constructor(ambient: Ambient) {
    this.#ambient = ambient;
    this.#outbox = new Outbox("sentry", ambient);
  }

  /** Sends one event, if the DSN is one and this minute's share is not used up. Never fails. */
  async report(dsn: string, error: unknown, around: Circumstances): Promise<void> {
    const target = parseDsn(dsn);
    if (target === null || !this.#admits()) return;
    await this.#outbox.send(envelope(target, eventOf(error, around, this.#ambient.now(), eventId())));
  }

  #admits(): boolean {
    const minute = Math.floor(this.#ambient.now() / 60_000);
    if (minute !== this.#minute) [this.#minute, this.#sent] = [minute, 0];
    this.#sent += 1;
    return this.#sent <= MOST_A_MINUTE;
  }
}

interface Target {
  readonly url: string;
  readonly key: string;
}

/** `https://KEY@HOST/PREFIX/PROJECT` -> its envelope endpoint; null when it is none. */
export function parseDsn(dsn: string): Target | null {
  if (!URL.canParse(dsn.trim())) return null;
  const { protocol, username, host, pathname } = new URL(dsn.trim());
  const at = pathname.lastIndexOf("/");
  const project = pathname.slice(at + 1);
  if (!/^https?:$/.test(protocol) || username === "" || !/^\d+$/.test(project)) return null;
  return { url: `${protocol}//${host}${pathname.slice(0, at)}/api/${project}/envelope/`, key: username };
}

function eventId(): string {
  return crypto.randomUUID().replaceAll("-", "");
}

type Event = Record<string, unknown> & { event_id: string; timestamp: number };

function envelope({ url, key }: Target, event: Event): Parcel {
  const head = { event_id: event.event_id, sent_at: new Date(event.timestamp * 1000).toISOString() };
  return {
    url,
    headers: {
      "content-type": "application/x-sentry-envelope",
      "x-sentry-auth": `Sentry sentry_version=7, sentry_client=sluiceway/1, sentry_key=${key}`,
    },
    body: `${[head, { type: "event" }, event].map((part) => JSON.stringify(part)).join("\n")}\n`,
  };
}

function eventOf(error: unknown, around: Circumstances, now: number, id: string): Event {
  const { trace } = around;
  const tags = {
    request_id: around.requestId,
    worker_version: around.workerVersion,
    ...(around.model !== null && { model: around.model }),
    ...(around.variant !== null && { variant: around.variant }),
  };
  return {
    event_id: id,
    timestamp: now / 1000,
    platform: "javascript",
    level: "error",
    logger: "gateway",
    environment: around.stage,
    release: around.release,
    transaction: `${around.method} ${around.path}`,
    tags,
    ...(trace !== null && { contexts: { trace: { trace_id: trace.traceId, span_id: trace.spanId } } }),
    exception: { values: chain(error) },
  };
}

/** The error and what caused it, the first cause in front, as Sentry wants them. */
function chain(error: unknown): unknown[] {
  const values: unknown[] = [];
  for (let link = error; link !== undefined && link !== null && values.length < 4; ) {
    const thrown = link instanceof Error ? link : null;
    values.unshift({
      type: thrown?.name ?? `thrown ${typeof link}`,
      // An error's message may quote the prompt; its name and its place can't.
      value: "",
      mechanism: { type: "generic", handled: false },
      ...(thrown !== null && { stacktrace: { frames: sentryFrames(thrown) } }),
    });
    link = thrown?.cause;
  }
  return values;
}

const FRAME = /^\s+at (?:(?:async )?(.+?) \()?(.+?):(\d+):(\d+)\)?$/;

/** The frames of a stack as the runtime writes them, without its first line: that holds the message. */
export function framesOf(error: Error): string[] {
  return (error.stack ?? "").split("\n").filter((line) => FRAME.test(line));
}

function sentryFrames(error: Error): unknown[] {
  return framesOf(error)
    .slice(0, 30)
    .map((line) => {
      const [, name, file = "", row, column] = FRAME.exec(line) ?? [];
      // Where the bundle lies differs by runtime; the source map goes by its name alone.
      const path = `app:///${file.slice(file.lastIndexOf("/") + 1)}`;
      return {
        function: name ?? "?",
        filename: path,
        abs_path: path,
        lineno: Number(row),
        colno: Number(column),
        in_app: true,
      };
    })
    .reverse();
}
