import type { Ambient } from "../ambient.ts";
import type { GatewayConfig, ModelVersion } from "../config.ts";
import type { GatewayEnv } from "../env.ts";
import { Account } from "./account.ts";
import type { LedgerPort } from "./protocol.ts";

/** Accounts in one isolate; those that have nothing to tell are forgotten first. */
export const MOST = 2_000;
/** Reports that go at once, and their number a second after that: one object serves the whole stage. */
const AT_ONCE = 50;
const LINGER_MS = 1_000;
const URGENT_LINGER_MS = 100;
/** A round of reports ends with its request; the next one goes on. */
const ROUND_MS = 15_000;
const TRIES = 3;
const RETRY_MS = 200;
/** A round whose request died with it is given up after this. */
const STUCK_MS = 10_000;

type Later = (work: Promise<void>) => void;

/** How fast one account tells its ledger. */
interface Pace {
  /** The round that runs, and when it last gave a sign. */
  round: number;
  runningAt: number | null;
  left: number;
  countedAt: number;
}

/** All accounts of one isolate. No promise is kept between requests: the runtime ties each to the request that made it. */
export class Accounts {
  readonly #stage: string;
  readonly #ambient: Ambient;
  readonly #accounts = new Map<string, Account>();
  readonly #paces = new WeakMap<Account, Pace>();
  readonly #names = new Map<ModelVersion, string>();
  #isolate: string | null = null;
  #asked = 0;

  constructor(config: GatewayConfig, ambient: Ambient) {
    this.#stage = config.stage;
    this.#ambient = ambient;
    for (const [name, model] of Object.entries(config.models)) {
      for (const [version, spec] of Object.entries(model.versions)) this.#names.set(spec, `${name}@${version}`);
    }
  }

  /** `chat@1` of a version of the config. */
  nameOf(spec: ModelVersion): string {
    return this.#names.get(spec) ?? "unknown";
  }

  /** The account of `key ID`, `team NAME`, `ip ADDRESS` or the stage itself. */
  of(kind: "key" | "team" | "ip" | "stage", id = ""): Account {
    const ledger = `${this.#stage}/${kind}/${id}`;
    let account = this.#accounts.get(ledger);
    if (account === undefined) {
      if (this.#accounts.size >= MOST) this.#forgetQuiet();
      account = new Account(ledger, this.isolate);
      this.#accounts.set(ledger, account);
    }
    return account;
  }

  get size(): number {
    return this.#accounts.size;
  }

  /** Unique among all requests of all isolates. */
  newId(): string {
    return `${this.isolate}-${++this.#asked}`;
  }

  /** Not the ambient's ids: tests number those, and two isolates must never be one to a ledger. */
  get isolate(): string {
    // Made late, since the runtime gives out chance only within requests.
    this.#isolate ??= crypto.randomUUID();
    return this.#isolate;
  }

  /** Sees to it that the ledger is told what the account has to tell. */
  touch(account: Account, env: GatewayEnv, later: Later): void {
    const now = this.#now();
    const pace = this.#paceOf(account, now);
    if (!account.dirty || (pace.runningAt !== null && now - pace.runningAt < STUCK_MS)) return;
    pace.runningAt = now;
    later(this.#round(account, env, pace, ++pace.round));
  }

  /** Tells everything now; for a moment without requests. Never fails. */
  async flush(env: GatewayEnv): Promise<void> {
    const dirty = [...this.#accounts.values()].filter((account) => account.dirty);
    await Promise.allSettled(dirty.map((account) => account.tell(ledgerOf(env, account.ledger), this.#now())));
  }

  async #round(account: Account, env: GatewayEnv, pace: Pace, round: number): Promise<void> {
    const began = this.#now();
    let failures = 0;
    while (account.dirty && pace.round === round && this.#now() - began < ROUND_MS) {
      const wait = failures > 0 ? RETRY_MS * 2 ** failures : this.#linger(account, pace);
      if (wait > 0) await this.#ambient.linger(wait);
      pace.runningAt = this.#now();
      try {
        await account.tell(ledgerOf(env, account.ledger), this.#now());
        failures = 0;
      } catch {
        // Kept, and told by the next round at the latest.
        if (++failures >= TRIES) break;
      }
    }
    if (pace.round === round) pace.runningAt = null;
  }

  #now(): number {
    return this.#ambient.now();
  }

  #linger(account: Account, pace: Pace): number {
    const now = this.#now();
    pace.left = Math.min(AT_ONCE, pace.left + (now - pace.countedAt) / LINGER_MS);
    pace.countedAt = now;
    const wait = pace.left >= 1 ? 0 : account.urgent ? URGENT_LINGER_MS : LINGER_MS;
    // Also for one that waits: what its wait earns is its own.
    pace.left = Math.max(0, pace.left) - 1;
    return wait;
  }

  #paceOf(account: Account, now: number): Pace {
    let pace = this.#paces.get(account);
    if (pace === undefined) {
      pace = { round: 0, runningAt: null, left: AT_ONCE, countedAt: now };
      this.#paces.set(account, pace);
    }
    return pace;
  }

  #forgetQuiet(): void {
    for (const [ledger, account] of this.#accounts) {
      if (account.quiet) this.#accounts.delete(ledger);
    }
    // While ledgers can't be told, nobody is quiet: then the oldest goes, so that memory is bounded.
    const [oldest] = this.#accounts.keys();
    if (this.#accounts.size >= MOST && oldest !== undefined) this.#accounts.delete(oldest);
  }
}

/** The stub's own types wrap every result for RPC; what arrives is the plain value. */
export function ledgerOf(env: GatewayEnv, ledger: string): LedgerPort {
  return env.LEDGER.getByName(ledger) as unknown as LedgerPort;
}
