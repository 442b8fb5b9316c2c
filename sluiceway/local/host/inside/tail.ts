/** Logs and exceptions of every version, told to the host with the names that the runtime itself does not know. */

import { WorkerEntrypoint } from "cloudflare:workers";

interface Env {
  SINK: Fetcher;
}

export default class Tail extends WorkerEntrypoint<Env, { script: string; version: string }> {
  override async tail(events: TraceItem[]): Promise<void> {
    const told = events.map((event) => ({ kind: "tail", ...this.ctx.props, ...described(event) }));
    await this.env.SINK.fetch("http://host/sink", { method: "POST", body: JSON.stringify(told) });
  }
}

function described(item: TraceItem): Record<string, unknown> {
  const event = item.event as {
    request?: { url: string; method: string };
    response?: { status: number };
    cron?: string;
    queue?: string;
  } | null;
  return {
    outcome: item.outcome,
    timestamp: item.eventTimestamp,
    request: event?.request && { method: event.request.method, url: event.request.url },
    status: event?.response?.status,
    cron: event?.cron,
    queue: event?.queue,
    logs: item.logs.map(({ level, message, timestamp }) => ({ level, message, timestamp })),
    exceptions: item.exceptions.map(({ name, message, stack, timestamp }) => ({ name, message, stack, timestamp })),
  };
}
