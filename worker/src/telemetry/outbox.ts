import type { Ambient } from "../ambient.ts";

/** Longest that a collector may take to answer. */
const PATIENCE_MS = 5_000;

export interface Parcel {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/**
 * Sends what telemetry has to tell, and tells the log when it did not arrive, at most once a minute: a collector that
 * is down costs its data, never a request, and fills no log. Never fails.
 */
export class Outbox {
  readonly #what: string;
  readonly #ambient: Ambient;
  #toldAt = Number.NEGATIVE_INFINITY;
  #quietUntil = Number.NEGATIVE_INFINITY;

  constructor(what: string, ambient: Ambient) {
    this.#what = what;
    this.#ambient = ambient;
  }

  /** Whether the collector asked to be left alone for now. */
  get quiet(): boolean {
    return this.#ambient.now() < this.#quietUntil;
  }

  async send({ url, headers, body }: Parcel): Promise<void> {
    if (this.quiet) return;
    try {
      const signal = AbortSignal.timeout(PATIENCE_MS);
      const response = await fetch(url, { method: "POST", headers, body, signal, redirect: "manual" });
      // An unread body would keep the connection.
      await response.body?.cancel();
      if (response.ok) return;
      if (response.status === 429 || response.status === 503) this.#leaveAlone(response.headers.get("retry-after"));
      this.#tell(`status ${response.status}`);
    } catch (error) {
      // The message may hold the URL, and with it a key.
      this.#tell(error instanceof Error ? error.name : "failed");
    }
  }

  #leaveAlone(retryAfter: string | null): void {
    const seconds = Number(retryAfter ?? "");
    this.#quietUntil = this.#ambient.now() + 1_000 * (seconds > 0 ? Math.min(seconds, 3_600) : 60);
  }

  #tell(reason: string): void {
    const now = this.#ambient.now();
    if (now - this.#toldAt < 60_000) return;
    this.#toldAt = now;
    this.#ambient.log(JSON.stringify({ event: "telemetry", level: "warn", what: this.#what, reason }));
  }
}
