import type { Access } from "./access/access.ts";
import type { Principal } from "./access/principal.ts";
import type { Ambient } from "./ambient.ts";
import type { Accounts } from "./budget/accounts.ts";
import type { ExactCache } from "./cache/exact.ts";
import type { Flights } from "./cache/flights.ts";
import type { SemanticCache } from "./cache/semantic.ts";
import type { GatewayConfig } from "./config.ts";
import type { Context } from "./context.ts";
import type { Linears } from "./edge/linears.ts";
import type { Blocklist } from "./guard/blocklist.ts";
import type { Outcomes } from "./outcomes/outcomes.ts";
import type { Presence } from "./presence.ts";
import type { RequestRecord } from "./record.ts";
import type { Health } from "./resilience/health.ts";
import type { LiveTable } from "./routing/table.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";

export type { Ambient } from "./ambient.ts";

/** What lives as long as the isolate. */
export interface Gateway {
  readonly config: GatewayConfig;
  readonly ambient: Ambient;
  readonly table: LiveTable;
  readonly outcomes: Outcomes;
  readonly cache: ExactCache;
  /** Null on a stage that has it off. */
  readonly semantic: SemanticCache | null;
  readonly flights: Flights;
  readonly health: Health;
  readonly access: Access;
  readonly accounts: Accounts;
  readonly telemetry: Telemetry;
  readonly linears: Linears;
  /** What no answer may hold; null on a stage that lists nothing. */
  readonly blocklist: Blocklist | null;
}

export interface GatewayVariables {
  gateway: Gateway;
  record: RequestRecord;
  presence: Presence;
  /** Who calls; set once the caller was let in. */
  principal: Principal;
  /** The request's body, read once, at most `limits.body_bytes` long. Throws the 413. */
  readBody: () => Promise<Uint8Array>;
}

export type GatewayContext = Context;
/** Answers, or lets the request go on to what is behind. What it throws is answered as an error. */
export type Handler =
  | ((c: GatewayContext) => Response | undefined | Promise<Response | undefined>)
  | ((c: GatewayContext) => void)
  | ((c: GatewayContext) => Promise<void>);

/** What a request passes on its way in, and its answer on the way out. */
export interface Layer {
  readonly before?: Handler;
  /** Sees each answer to a request that `before` has not thrown at, also one to an error, in `c.res`. */
  readonly after?: (c: GatewayContext) => void;
}
