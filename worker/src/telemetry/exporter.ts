import type { Ambient } from "../ambient.ts";
import type { GatewayConfig } from "../config.ts";
import type { GatewayEnv } from "../env.ts";
import { Outbox } from "./outbox.ts";
import { exportBody, type Span } from "./spans.ts";

/** Milliseconds that the first span of a batch waits for others: a subrequest for each request would cost as much as it. */
const LINGER_MS = 500;
/** A batch whose request died before it was sent is taken over by another after this. */
const STUCK_MS = 5_000;
const MOST_WAITING = 1_000;

type Settings = NonNullable<GatewayConfig["telemetry"]["otlp"]>;

/**
 * Exports spans by OTLP over HTTP, JSON. Plain spans wait in the isolate; the request that put the first one there
 * sends them all, in its own `waitUntil`. The runtime ties promises to requests, so none is shared.
 */
export class SpanExporter {
  readonly #settings: Settings;
  readonly #config: GatewayConfig;
  readonly #ambient: Ambient;
  readonly #outbox: Outbox;
  #waiting: Span[] = [];
  #sendingSince: number | null = null;

  constructor(settings: Settings, config: GatewayConfig, ambient: Ambient) {
    this.#settings = settings;
    this.#config = config;
    this.#ambient = ambient;
    this.#outbox = new Outbox("otlp", ambient);
  }

  /** Takes the spans of a request that has ended. More than can wait are dropped: the newest. */
  add(spans: readonly Span[], env: GatewayEnv, later: (work: Promise<void>) => void): void {
    if (this.#waiting.length + spans.length > MOST_WAITING) return;
    this.#waiting.push(...spans);
    const now = this.#ambient.now();
    if (this.#sendingSince !== null && now - this.#sendingSince < STUCK_MS) return;
    this.#sendingSince = now;
    later(this.#sendSoon(env));
  }

  async #sendSoon(env: GatewayEnv): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, LINGER_MS));
    const spans = this.#waiting;
    this.#waiting = [];
    this.#sendingSince = null;
    if (spans.length === 0) return;
    const { endpoint, secret } = this.#settings;
    const named = secret === null ? undefined : (env as unknown as Record<string, unknown>)[secret];
    const headers = { "content-type": "application/json", ...headersOf(typeof named === "string" ? named : "") };
    await this.#outbox.send({ url: endpoint, headers, body: exportBody(this.#config, env.VERSION?.id ?? "", spans) });
  }
}

/** `name=value,name=value`, as `OTEL_EXPORTER_OTLP_HEADERS` has them, percent-encoded where need be. */
export function headersOf(text: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const pair of text.split(",")) {
    const at = pair.indexOf("=");
    if (at < 1) continue;
    headers[pair.slice(0, at).trim()] = decoded(pair.slice(at + 1).trim());
  }
  return headers;
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
