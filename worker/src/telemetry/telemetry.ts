import type { Ambient } from "../ambient.ts";
import type { GatewayConfig } from "../config.ts";
import { SpanExporter } from "./exporter.ts";
import { Sentry } from "./sentry.ts";

/** Where the stage tells of itself, beside its log and its metrics; null where it doesn't. */
export interface Telemetry {
  readonly spans: SpanExporter | null;
  readonly sentry: Sentry | null;
}

export function newTelemetry(config: GatewayConfig, ambient: Ambient): Telemetry {
  const { otlp, sentry } = config.telemetry;
  return {
    spans: otlp === null ? null : new SpanExporter(otlp, config, ambient),
    sentry: sentry ? new Sentry(ambient) : null,
  };
}
