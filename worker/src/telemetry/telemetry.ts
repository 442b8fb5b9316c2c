import type { Ambient } from "../ambient.ts";
import type { GatewayConfig } from "../config.ts";
import type { Health } from "../resilience/health.ts";
import { SpanExporter } from "./exporter.ts";
import { ReadinessProbe } from "./readiness.ts";
import { Sentry } from "./sentry.ts";

/** What the stage tells of itself beside its log and its metrics; null what it doesn't. */
export interface Telemetry {
  readonly spans: SpanExporter | null;
  readonly sentry: Sentry | null;
  readonly readiness: ReadinessProbe;
}

export function newTelemetry(config: GatewayConfig, health: Health, ambient: Ambient): Telemetry {
  const { otlp, sentry } = config.telemetry;
  return {
    spans: otlp === null ? null : new SpanExporter(otlp, config, ambient),
    sentry: sentry ? new Sentry(ambient) : null,
    readiness: new ReadinessProbe(config, health, ambient),
  };
}
