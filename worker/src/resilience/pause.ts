import type { GatewayConfig } from "../config.ts";
import { type Ending, onAbort } from "../switch.ts";

type Settings = Pick<GatewayConfig["resilience"], "base_ms" | "cap_ms">;

/**
 * Milliseconds before retry `retry` (the first is 1): anywhere from none to a bound that doubles, so that requests
 * which failed together don't come back together. `chance` is in `[0, 1)`.
 */
export function jitter(settings: Settings, retry: number, chance: number): number {
  return chance * Math.min(settings.cap_ms, settings.base_ms * 2 ** (retry - 1));
}

/** Waits; throws the signal's reason as soon as it aborts. */
export function pause(ms: number, signal: Ending): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const leave = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      off();
      resolve();
    }, ms);
    const off = onAbort(signal, leave);
  });
}
