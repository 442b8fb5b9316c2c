import type { GatewayConfig } from "../config.ts";

type Settings = GatewayConfig["resilience"]["breaker"];

export type BreakerState = "closed" | "open" | "half-open";

/**
 * Keeps requests from a backend that fails again and again. It opens after `failures` in a row, the first and the last
 * at most `window_ms` apart: a share of failures would open it for a backend that is merely busy with many requests.
 * After `open_ms` one request tries; its luck decides for all.
 */
export class Breaker {
  readonly #settings: Settings;
  readonly #now: () => number;
  #failures = 0;
  #firstAt = 0;
  #openedAt: number | null = null;
  /** When the trying request set out. One that was never heard of again holds the place for `open_ms` only. */
  #triedAt: number | null = null;

  constructor(settings: Settings, now: () => number) {
    this.#settings = settings;
    this.#now = now;
  }

  get state(): BreakerState {
    if (this.#openedAt === null) return "closed";
    return this.openForMs > 0 ? "open" : "half-open";
  }

  /** Milliseconds until the next request may try; 0 when one may. */
  get openForMs(): number {
    if (this.#openedAt === null) return 0;
    const { open_ms } = this.#settings;
    return Math.max(0, Math.max(this.#openedAt, this.#triedAt ?? 0) + open_ms - this.#now());
  }

  /** Whether a request may go to the backend. A request that may must tell how it ended. */
  admits(): boolean {
    if (this.#openedAt === null) return true;
    if (this.openForMs > 0) return false;
    this.#triedAt = this.#now();
    return true;
  }

  /** A streamed answer has begun: the backend is there, but not yet proven. */
  began(): void {
    if (this.#openedAt === null) return;
    this.#close();
    // On parole: the first failure opens it again.
    this.#failures = this.#settings.failures - 1;
    this.#firstAt = this.#now();
  }

  succeeded(): void {
    this.#failures = 0;
    this.#close();
  }

  failed(): void {
    const now = this.#now();
    if (this.#failures === 0 || now - this.#firstAt > this.#settings.window_ms) {
      this.#failures = 0;
      this.#firstAt = now;
    }
    this.#failures += 1;
    // One that set out before the circuit opened, and fails later, must not put off the next try.
    const opens = this.#openedAt === null ? this.#failures >= this.#settings.failures : this.#triedAt !== null;
    if (!opens) return;
    this.#openedAt = now;
    this.#triedAt = null;
  }

  /** The request ended without saying anything of the backend: its client left, or the backend is at its limit. */
  ended(): void {
    this.#triedAt = null;
  }

  #close(): void {
    this.#openedAt = null;
    this.#triedAt = null;
  }
}
