import type { Usage } from "../backends/backend.ts";
import type { ModelVersion } from "../config.ts";
import type { GatewayContext } from "../gateway.ts";

/** The most that a request may come to. */
export interface WorstCase {
  readonly promptTokens: number;
  readonly maxTokens: number;
  readonly spec: ModelVersion;
}

/** What a request holds of its budgets while it runs. The first call of either ends it; later ones do nothing. */
export interface Reservation {
  /** Over its budget, the request goes to this cheaper model (`chat-small`, `chat@1`) instead; null or absent: as it is. */
  readonly insteadOf?: string | null;
  /** Books what it really came to, by the version that answered; gives that in US dollars. */
  settle(usage: Usage, spec: ModelVersion): number;
  /** Gives everything back: nothing was spent. */
  release(): void;
}

/** Admits a request to its budgets and token limits, or throws the 402 or 429 in OpenAI's shape. */
export async function reserve(_c: GatewayContext, _worst: WorstCase): Promise<Reservation> {
  return { settle: () => 0, release: () => {} };
}
