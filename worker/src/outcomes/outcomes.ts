import type { Ambient } from "../ambient.ts";
import type { GatewayConfig } from "../config.ts";
import type { GatewayEnv } from "../env.ts";
import type { RequestRecord } from "../record.ts";
import type { Served } from "../rollout/port.ts";
import type { Batch, Outcome } from "../rollout/types.ts";
import { callerOf, clientOf, lateOutcomeOf, outcomeOf, ratedId, workerOutcomeOf } from "./outcome.ts";
import { Running } from "./running.ts";

/** Where batches go: true once the controller has counted one. */
export interface BatchPort {
  /** Whether every request is told of, not those of models on their way alone. */
  readonly ramping: boolean;
  report(env: GatewayEnv, batch: Batch, served: readonly Served[]): Promise<boolean>;
}

type Later = (work: Promise<void>) => void;

interface Unsent {
  readonly batch: Batch;
  readonly served: readonly Served[];
}

/** Between two batches of an isolate. */
const GAP_MS = 500;
/** In a batch. What comes while so many wait is dropped, whatever it says. */
const MOST = 200;
/** A round ends with its request; the next one goes on. */
const ROUND_MS = 15_000;
/** A round whose request died with it is given up after this. */
const STUCK_MS = 10_000;
const TRIES = 3;

/**
 * What this isolate's requests have shown of the versions that are on their way, until the controller has been told. Plain
 * values, which requests share. To a request it costs one push; models without a rollout cost nothing.
 */
export class Outcomes {
  readonly #ambient: Ambient;
  readonly #port: BatchPort;
  readonly #isolate: () => string;
  readonly #watched = new Set<string>();
  /** Models whose callers may say something of their requests. */
  readonly #rated = new Set<string>();
  readonly #running: Running;
  #outcomes: Outcome[] = [];
  #served: Served[] = [];
  #unsent: Unsent | null = null;
  #number = 0;
  #sentAt = Number.NEGATIVE_INFINITY;
  #round = 0;
  #roundAt: number | null = null;

  /** `isolate` gives an id that no other isolate has. */
  constructor(config: GatewayConfig, ambient: Ambient, port: BatchPort, isolate: () => string) {
    this.#ambient = ambient;
    this.#port = port;
    this.#isolate = isolate;
    const slos = new Map<string, number>();
    for (const [name, { rollout }] of Object.entries(config.models)) {
      if (!rollout) continue;
      this.#watched.add(name);
      if (rollout.gates.some((gate) => gate.name === "feedback")) this.#rated.add(name);
      const slo = rollout.gates.find((gate) => gate.name === "latency")?.slo;
      if (typeof slo === "number") slos.set(name, slo * 1000);
    }
    this.#running = new Running(slos);
  }

  /** Whether a rollout counts what this model does, or a ramp of worker versions what any does. */
  watches(model: string): boolean {
    return this.#watched.has(model) || this.ramping;
  }

  /** Whether two worker versions are compared, by what every request comes to. */
  get ramping(): boolean {
    return this.#port.ramping;
  }

  /** Whether any model's callers may say something of their requests. */
  get rates(): boolean {
    return this.#rated.size > 0;
  }

  /** Notes that a watched request is on its way. Its record has evidence. */
  began(record: RequestRecord, env: GatewayEnv, later: Later): void {
    if (this.#running.add(record)) this.tell(env, later);
  }

  /** Notes what a request came to, by the status of its answer; null: nothing. `endedAt` in milliseconds since the epoch. */
  finished(record: RequestRecord, status: number, endedAt: number, env: GatewayEnv, later: Later): Outcome | null {
    const { evidence } = record;
    this.#running.delete(record);
    const outcome = evidence && outcomeOf(record, evidence, status, endedAt);
    const watched = evidence !== null && this.#watched.has(evidence.model);
    if (outcome !== null && watched) this.add(outcome);
    else if (this.ramping) {
      const told = workerOutcomeOf(record, outcome, status, endedAt);
      if (told !== null) this.add(told);
    }
    if (evidence === null || outcome === null) {
      if (this.#isDue()) this.tell(env, later);
      return null;
    }
    const { model, version, user, probe } = evidence;
    if (!probe && this.#rated.has(model) && this.#served.length < MOST) {
      this.#served.push({
        id: ratedId(record.id),
        caller: callerOf(record),
        model,
        version,
        client: clientOf(record, user),
      });
    }
    this.tell(env, later);
    return outcome;
  }

  /** Puts an outcome with those that wait. */
  add(outcome: Outcome): void {
    if (this.#outcomes.length < MOST) this.#outcomes.push(outcome);
  }

  /** Tells all that waits now; for a moment without requests. Never fails. */
  async flush(env: GatewayEnv): Promise<void> {
    this.#sweep();
    if (this.#isDue()) await this.#send(env).catch(() => false);
  }

  /** Sees to it that the controller is told what waits. */
  tell(env: GatewayEnv, later: Later): void {
    if (this.#roundAt !== null && this.#ambient.now() - this.#roundAt < STUCK_MS) return;
    this.#roundAt = this.#ambient.now();
    try {
      later(this.#rounds(env, ++this.#round));
    } catch {
      // A request that is over can start nothing more: the next one tells what this one has noted.
      this.#roundAt = null;
    }
  }

  async #rounds(env: GatewayEnv, round: number): Promise<void> {
    const until = this.#ambient.now() + ROUND_MS;
    let failures = 0;
    while (this.#round === round && (await this.#awaitDue(until, failures))) {
      const sent = await this.#send(env).catch(() => false);
      failures = sent ? 0 : failures + 1;
      // Kept, and told by the next round at the latest.
      if (failures >= TRIES) break;
    }
    if (this.#round === round) this.#roundAt = null;
  }

  /** Waits until there is something to send and the gap is over. False: not in this round. */
  async #awaitDue(until: number, failures: number): Promise<boolean> {
    for (;;) {
      this.#roundAt = this.#ambient.now();
      const gap = this.#sentAt + GAP_MS * 2 ** failures - this.#roundAt;
      if (gap > 0) await this.#ambient.linger(gap);
      this.#sweep();
      if (this.#isDue()) return true;
      const next = this.#running.nextDue;
      const now = this.#ambient.now();
      if (next === null || next > until) return false;
      await this.#ambient.linger(Math.min(next - now, GAP_MS));
      // A clock that stands still would keep us here for ever.
      if (this.#ambient.now() <= now) return false;
    }
  }

  #isDue(): boolean {
    return this.#unsent !== null || this.#outcomes.length > 0;
  }

  #sweep(): void {
    const now = this.#ambient.now();
    for (const record of this.#running.overdue(now)) {
      const { evidence } = record;
      if (evidence === null || evidence.late) continue;
      evidence.late = true;
      this.add(lateOutcomeOf(record, evidence, now));
    }
  }

  /** What fails is sent again, under the same number, so that it counts once. */
  async #send(env: GatewayEnv): Promise<boolean> {
    this.#unsent ??= this.#nextBatch();
    const sending = this.#unsent;
    this.#sentAt = this.#ambient.now();
    const sent = await this.#port.report(env, sending.batch, sending.served);
    if (sent && this.#unsent === sending) this.#unsent = null;
    return sent;
  }

  #nextBatch(): Unsent {
    const batch = { isolate: this.#isolate(), number: ++this.#number, outcomes: this.#outcomes, feedback: [] };
    const unsent = { batch, served: this.#served };
    this.#outcomes = [];
    this.#served = [];
    return unsent;
  }
}
