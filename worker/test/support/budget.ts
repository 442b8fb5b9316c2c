import { env } from "cloudflare:test";
import { newKey } from "../../src/access/key-text.ts";
import type { KeySpec } from "../../src/access/keys.ts";
import { ledgerOf } from "../../src/budget/accounts.ts";
import { nanosOf } from "../../src/budget/money.ts";
import type { LedgerPort } from "../../src/budget/protocol.ts";
import { sha256Hex } from "../../src/digest.ts";
import type { GatewayEnv } from "../../src/env.ts";
import { type Stage, stageConfig } from "./stage.ts";

const bindings = env as unknown as GatewayEnv;

/** A dollar for a million prompt tokens, a thousand for a million of the answer: each said token is a tenth of a cent. */
export const PRICE = { input: 1, output: 1_000 };
/** A tenth of that. */
export const CHEAP = { input: 0.1, output: 100 };

/** A stage of this name with a priced model `chat`, a cheaper `chat-small`, and no cache; `changes` as in `Stage`. */
export function pricedConfig(stage: string, changes: Record<string, unknown> = {}): Record<string, unknown> {
  const version = (id: string, price: unknown) => ({ backend: "workers-ai", id, price });
  const { models } = stageConfig() as { models: { chat: object } };
  return {
    stage,
    models: {
      chat: { ...models.chat, versions: { "1": version("@cf/a/large", PRICE) }, split: [[1, 100]] },
      "chat-small": { task: "chat", versions: { "1": version("@cf/a/small", CHEAP) }, split: [[1, 100]] },
    },
    cache: { enabled: false, ttl: 0 },
    ...changes,
  };
}

/** Makes a key of the stage, and gives the headers that send it with the id that it has. */
export async function keyFor(stage: string, spec: Partial<KeySpec>): Promise<{ id: string; headers: HeadersOf }> {
  const { id, text } = newKey();
  const none = { owner: null, team: null, models: null, requestsPerMinute: null, tokensPerMinute: null };
  const whole: KeySpec = { name: id, ...none, budgets: [], expiresAt: null, ...spec };
  await bindings.KEYS.getByName(stage).create(id, whole, await sha256Hex(text), Date.now());
  return { id, headers: { authorization: `Bearer ${text}` } };
}

type HeadersOf = Record<string, string>;

/** What a ledger has in its books today, in nanodollars: `stage/key/ID`, `stage/team/NAME`, `stage/stage/`. */
export async function bookedIn(ledger: string, now = Date.now()): Promise<{ nanos: number; requests: number }> {
  const { day } = await ledgerOf(bindings, ledger).spend(now);
  return { nanos: nanosOf(day.usd), requests: day.requests };
}

/** The sum of what the stages' requests were told to cost, in nanodollars. */
export function settledBy(...stages: Stage[]): number {
  const costs = stages.flatMap(({ requestLogs }) => requestLogs.map((line) => Number(line.cost_usd ?? 0)));
  return costs.reduce((sum, usd) => sum + nanosOf(usd), 0);
}

/** The platform's ledgers, with a count of what is asked of them by method, and faults to order. */
export class WatchedLedgers {
  readonly calls: (keyof LedgerPort)[] = [];
  /** What each call waits for first, or throws. */
  before: (method: keyof LedgerPort) => Promise<void> = async () => {};

  /** As the binding `LEDGER`. */
  get binding(): GatewayEnv["LEDGER"] {
    const getByName = (name: string): LedgerPort => {
      const port = ledgerOf(bindings, name);
      const watched = async <T>(method: keyof LedgerPort, call: () => Promise<T>): Promise<T> => {
        this.calls.push(method);
        await this.before(method);
        return call();
      };
      return {
        reserve: (ask) => watched("reserve", () => port.reserve(ask)),
        hit: (now, perMinute) => watched("hit", () => port.hit(now, perMinute)),
        report: (report) => watched("report", () => port.report(report)),
        spend: (now) => watched("spend", () => port.spend(now)),
      };
    };
    return { getByName } as unknown as GatewayEnv["LEDGER"];
  }

  count(method: keyof LedgerPort): number {
    return this.calls.filter((call) => call === method).length;
  }
}
