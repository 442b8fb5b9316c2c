import { Access } from "./access/access.ts";
import { createApp } from "./app.ts";
import { Accounts } from "./budget/accounts.ts";
import { ExactCache } from "./cache/exact.ts";
import { Flights } from "./cache/flights.ts";
import { SemanticCache } from "./cache/semantic.ts";
import { parseConfig } from "./config.ts";
import { Linears } from "./edge/linears.ts";
import type { GatewayEnv } from "./env.ts";
import type { Ambient } from "./gateway.ts";
import { Blocklist } from "./guard/blocklist.ts";
import { Outcomes } from "./outcomes/outcomes.ts";
import { offerProbes } from "./outcomes/probe.ts";
import { Health } from "./resilience/health.ts";
import { LiveTable } from "./routing/table.ts";
import { newTelemetry } from "./telemetry/telemetry.ts";

export { KeyRing } from "./access/key-ring.ts";
export { Ledger } from "./budget/ledger.ts";
export { Conversation } from "./conversation/conversation.ts";
export type { GatewayEnv } from "./env.ts";
export { RolloutController } from "./rollout/controller.ts";

const PLATFORM: Ambient = {
  now: () => Date.now(),
  newId: () => `req-${crypto.randomUUID().replaceAll("-", "")}`,
  random: () => Math.random(),
  log: (line) => console.log(line),
  linger: (ms) => scheduler.wait(ms),
};

/**
 * The gateway of one stage, from the text of its `config.json`. Throws `ConfigError` at once when that is faulty, so
 * that a faulty upload is refused instead of served.
 */
export function createGateway(configText: string, ambient: Ambient = PLATFORM): ExportedHandler<GatewayEnv> {
  const config = parseConfig(configText);
  const table = new LiveTable(config, ambient.now);
  const cache = new ExactCache(config.cache, ambient.now, config.resilience.stale);
  const accounts = new Accounts(config, ambient);
  const health = new Health(config.resilience, ambient.now);
  const outcomes = new Outcomes(config, ambient, table, () => accounts.isolate);
  const app = createApp({
    config,
    ambient,
    table,
    outcomes,
    cache,
    semantic: SemanticCache.of(config, cache, ambient.now),
    flights: new Flights(ambient.now),
    health,
    access: new Access(config, ambient.now),
    accounts,
    telemetry: newTelemetry(config, health, ambient),
    linears: new Linears(ambient.now, ambient.linger),
    blocklist: Blocklist.of(config.guard.blocklist),
  });
  offerProbes(config, ambient, (request, env, ctx) => app.fetch(request, env, ctx));
  return {
    fetch: (request, env, ctx) => app.fetch(request, env, ctx),
    // A cron keeps an isolate warm, its knowledge of the live split fresh, and tells the ledgers what they may have missed.
    scheduled: async (_event, env) => {
      await Promise.all([table.refresh(env), outcomes.flush(env), accounts.flush(env)]);
    },
  };
}
