import { env, runInDurableObject } from "cloudflare:test";
import { expect, inject, it } from "vitest";
import { random } from "../../test/support/random.ts";
import type { GatewayEnv } from "../env.ts";
import { Account, type Hold } from "./account.ts";
import { ledgerOf } from "./accounts.ts";
import type { Ledger } from "./ledger.ts";
import { LedgerStore } from "./ledger-store.ts";
import type { LedgerPort, SpendLine, Terms } from "./protocol.ts";

const bindings = env as unknown as GatewayEnv;
const SEEDS = inject("long") ? 4 : 1;
const START = Date.parse("2026-11-10T12:00:00Z");

/** Isolates of one stage behind a network that loses, repeats, delays and overtakes. */
class World {
  readonly ledger: string;
  readonly chance: () => number;
  readonly #port: LedgerPort;
  readonly #terms: Terms;
  readonly #isolates: Account[];
  readonly #running: { account: Account; hold: Hold }[] = [];
  /** What the network still carries, each to be let go at some later step. */
  readonly #carried: { go: () => void; done: Promise<unknown> }[] = [];
  now = START;
  settled = 0;
  admitted = 0;
  refused = 0;
  leased = 0;
  #asked = 0;

  constructor(ledger: string, limit: number, seed: number) {
    this.ledger = ledger;
    this.chance = random(seed * 2_654_435_761);
    this.#port = ledgerOf(bindings, ledger);
    this.#terms = { limits: [{ period: "month", nanos: limit }], alerts: null };
    this.#isolates = Array.from({ length: 4 }, (_, at) => new Account(ledger, `isolate-${at}`));
    for (const account of this.#isolates) account.terms = this.#terms;
  }

  /** What requests on their way may still come to. */
  get running(): number {
    return this.#running.reduce((sum, { hold }) => sum + hold.nanos, 0);
  }

  /** What the ledger counts as spent or held. */
  async counted(): Promise<number> {
    return runInDurableObject(bindings.LEDGER.getByName(this.ledger), (_: Ledger, { storage: { sql } }) => {
      const { month, held } = new LedgerStore(sql).sums(this.now);
      return month + held;
    });
  }

  /** What it holds for requests on their way. */
  async held(): Promise<number> {
    return runInDurableObject(bindings.LEDGER.getByName(this.ledger), (_: Ledger, { storage: { sql } }) => {
      const query = "SELECT (SELECT TOTAL(nanos) FROM holds) + (SELECT TOTAL(busy) FROM isolates) AS n";
      return Number(sql.exec(query).one().n);
    });
  }

  async step(): Promise<void> {
    // An isolate has word from its ledger every few seconds, or its requests are not known of in time.
    this.now += Math.floor(this.chance() ** 6 * 3_000);
    const account = this.#isolates[Math.floor(this.chance() * this.#isolates.length)] as Account;
    const dice = this.chance();
    if (dice < 0.4) await this.#begin(account);
    else if (dice < 0.65) this.#end();
    else if (dice < 0.9) await this.#tell(account);
    else this.#deliver();
  }

  /** Ends all requests, lets the network carry all, and tells until nothing is left to tell. */
  async settleAll(): Promise<void> {
    while (this.#running.length > 0) this.#end();
    while (this.#carried.length > 0) this.#deliver();
    await Promise.allSettled(this.#told);
    for (const account of this.#isolates) while (account.dirty) await account.tell(this.#port, this.now);
  }

  readonly #told: Promise<unknown>[] = [];

  async #begin(account: Account): Promise<void> {
    const nanos = 20 + Math.floor(this.chance() * 40);
    let hold = account.take(nanos, this.now);
    if (hold !== null) this.leased++;
    hold ??= await this.#reserve(account, nanos);
    if (hold === null) this.refused++;
    else {
      this.admitted++;
      this.#running.push({ account, hold });
    }
  }

  async #reserve(account: Account, nanos: number): Promise<Hold | null> {
    const hold: Hold = { nanos, id: `r-${++this.#asked}`, tokens: 0, second: 0 };
    const lost = this.chance();
    const until = this.now + 900_000;
    const ask = { ...hold, id: String(hold.id), now: this.now, until, tokensPerMinute: null, terms: this.#terms };
    if (lost >= 0.05) {
      const verdict = await this.#port.reserve(ask);
      if (lost >= 0.1) return verdict.admitted ? hold : null;
    }
    // The question or its answer was lost.
    account.end(hold, null);
    return null;
  }

  #end(): void {
    const at = Math.floor(this.chance() * this.#running.length);
    const [ended] = this.#running.splice(at, 1);
    if (ended === undefined) return;
    const { account, hold } = ended;
    if (this.chance() < 0.2) {
      account.end(hold, null);
      return;
    }
    const nanos = Math.floor(this.chance() * (hold.nanos + 1));
    const line: SpendLine = {
      ...{ day: "2026-11-10", key: "k", team: "", model: "m@1", requests: 1, nanos, prompt: 1, completion: 1 },
    };
    account.end(hold, line);
    account.book(line);
    this.settled += nanos;
  }

  async #tell(account: Account): Promise<void> {
    const fate = this.chance();
    if (fate < 0.5) return account.tell(this.#port, this.now);
    const carried = Promise.withResolvers<void>();
    const slow: Pick<LedgerPort, "report"> = {
      report: async (report) => {
        if (fate < 0.6) throw new Error("lost on the way there");
        const sent = structuredClone(report);
        // Some wait before they arrive, and so may be overtaken; others on the way back.
        if (fate < 0.8) await carried.promise;
        const grant = await this.#port.report(sent);
        if (fate >= 0.7) await carried.promise;
        if (fate >= 0.9) throw new Error("lost on the way back");
        return grant;
      },
    };
    const done = account.tell(slow, this.now).catch(() => {});
    this.#told.push(done);
    if (fate >= 0.6) this.#carried.push({ go: carried.resolve, done });
    else await done;
  }

  #deliver(): void {
    const at = Math.floor(this.chance() * this.#carried.length);
    this.#carried.splice(at, 1)[0]?.go();
  }
}

it.each([
  ["small", 1_500],
  ["middling", 6_000],
  ["large", 1_000_000],
])(
  "gw_16 spends no more than a %s budget over a bad network, and books exactly what was spent",
  async (size, limit) => {
    let happened = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const world = new World(`chaos-${limit}-${seed}`, limit, seed);
      for (let step = 0; step < 150; step++) {
        await world.step();
        const used = world.settled + world.running;
        expect(used, `seed ${seed}, step ${step}`).toBeLessThanOrEqual(limit);
        // The sharper half: whatever an isolate does is covered by what the ledger knows of it.
        expect(await world.counted(), `seed ${seed}, step ${step}`).toBeGreaterThanOrEqual(used);
      }
      await world.settleAll();
      expect((await ledgerOf(bindings, world.ledger).spend(world.now)).month.usd).toBe(world.settled / 1e9);
      expect(await world.held()).toBe(0);
      expect(world.admitted).toBeGreaterThan(10);
      happened += size === "small" ? world.refused : world.leased;
    }
    // That this is a small budget, or one in plenty.
    expect(happened).toBeGreaterThan(5 * SEEDS);
  },
);
