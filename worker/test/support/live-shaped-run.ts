import type { Split } from "../../src/config.ts";
import { advance, liveSplits, newStage, type StageState, viewOf } from "../../src/rollout/core.ts";
import type { Event } from "../../src/rollout/state.ts";
import type { GateSpec, JournalEntry, Outcome, Phase, RolloutSpec } from "../../src/rollout/types.ts";
import { choose } from "../../src/routing/split.ts";
import { type Asking, People } from "./live-shaped.ts";
import { type Chance, seeded } from "./traffic.ts";

/** How a simulated rollout is run. Times in seconds of the simulated clock. */
export interface Setting {
  readonly seed: number;
  /** The hold of each step, and the watch. */
  readonly hold: number;
  /** From when on this share of both arms' requests fails. */
  readonly fault?: { readonly from: number; readonly share: number };
  /** So many more of the candidate's requests fail. */
  readonly worse?: number;
  /** Ends then at the latest. */
  readonly most: number;
}

export interface Ended {
  readonly seed: number;
  readonly phase: Phase;
  /** When it ended, in simulated seconds, and the requests until then. */
  readonly seconds: number;
  readonly requests: number;
  /** How the last entry of the journal says it. */
  readonly sentence: string;
  /** What the screen said while both arms were bad; null: it never was. */
  readonly platform: string | null;
  /** Fails of both arms, of all their requests. */
  readonly errors: number;
}

const RATE = 50;
const ISOLATES = 6;
const TICK_MS = 100;
/** An isolate tells every so many ticks, at most so many outcomes, and knows the split from the answer. */
const [EVERY, MOST] = [5, 200];
/** Of batches: how often one comes twice, how often one is on its way for a second longer than usual. */
const [TWICE, DELAYED] = [0.01, 0.02];
/** Requests that take longer than this ring are at its end. */
const RING = 4_096;
const START = Date.UTC(2026, 10, 30);

const SLOS = { latency: 25, cost: 0.0035 } as const;
const gate = (name: GateSpec["name"], margin: number, slo: number | null = null): GateSpec => {
  return { name, margin, slo, mode: "enforce" };
};

/** What planning gives a canary when nothing is said but its gates, from 5 % on, with holds of that many seconds. */
export function defaultCanary(hold_s: number): RolloutSpec {
  return {
    ...{ strategy: "canary", stable: 1, candidates: [2], arms: [] },
    steps: [5, 10, 50, 100].map((weight) => ({ weight, hold_s, approval: false, margins: {} })),
    gates: [
      ...[gate("errors", 0.02), gate("latency", 0.05, SLOS.latency), gate("json", 0.02), gate("refusals", 0.05)],
      gate("cost", 0.05, SLOS.cost),
    ],
    ...{ alpha: 0.01, beta: 0.05, min_fail: 10, min_bad: 3, min_pass: 50, absolute: 0.2, control: 5 },
    ...{ checks: [], watch_s: hold_s, warm_s: 0, on_fail: "rollback", no_control: "hold", grace_s: 600 },
    ...{ mirror: 0, attempt: 1 },
  };
}

/** Two minutes a step: what a step takes at 5 % is more than that. In simulated seconds, as the others. */
const HOLD = 120;
const [FAULT_SHARE, FAULT_LASTS, LONGEST] = [0.3, 600, 6 * 3_600];

/** Both versions are equally good. */
export function healthy(seed: number, hold = HOLD): LiveShaped {
  return new LiveShaped({ seed, hold, most: 5 * hold + LONGEST });
}

/** Both fail alike from a random moment on, at which the rollout is still under way, to the end of the run. */
export function bothFail(seed: number, hold = HOLD): LiveShaped {
  const from = 10 + seeded(seed + 1_000_000)() * (4 * hold - 10);
  return new LiveShaped({ seed, hold, fault: { from, share: FAULT_SHARE }, most: from + FAULT_LASTS });
}

interface Isolate {
  readonly name: string;
  split: Split;
  outcomes: Outcome[];
  number: number;
}

/** One rollout from its first step to its end, by the controller's own core, under traffic as it is live. */
export class LiveShaped {
  readonly #chance: Chance;
  readonly #people: People;
  readonly #setting: Setting;
  readonly #isolates: Isolate[];
  /** What ends at a tick, or is late then, by isolate. */
  readonly #ends: [isolate: Isolate, outcome: Outcome][][] = Array.from({ length: RING }, () => []);
  /** Batches on their way, by the tick at which they arrive. */
  readonly #underway = new Map<number, (() => void)[]>();
  #state: StageState = newStage();
  #now = START;
  #tick = 0;
  #requests = 0;
  #errors = 0;
  #platform: string | null = null;
  readonly #journal: JournalEntry[] = [];

  constructor(setting: Setting) {
    this.#setting = setting;
    this.#chance = seeded(setting.seed);
    const { from, share } = setting.fault ?? { from: Number.POSITIVE_INFINITY, share: 0 };
    this.#people = new People(this.#chance, ISOLATES, { from: START + from * 1000, share }, setting.worse);
    const models = { chat: { split: [[1, 100]] as Split, rollout: defaultCanary(setting.hold) } };
    this.#send({ kind: "spec", spec: { order: "2026-11-30T00:00:00Z\nv", digest: "d", release: "r", models } });
    const split = this.#live();
    this.#isolates = Array.from({ length: ISOLATES }, (_, at) => ({
      ...{ name: `isolate-${at}`, split, outcomes: [], number: 0 },
    }));
  }

  get journal(): readonly JournalEntry[] {
    return this.#journal;
  }

  run(): Ended {
    while (this.#now < START + this.#setting.most * 1000 && isOpen(this.#phase())) this.#step();
    return {
      ...{ seed: this.#setting.seed, phase: this.#phase(), seconds: (this.#now - START) / 1000 },
      ...{ requests: this.#requests, sentence: this.#journal.at(-1)?.sentence ?? "", platform: this.#platform },
      errors: this.#errors / this.#requests,
    };
  }

  #step(): void {
    this.#tick++;
    this.#now = START + this.#tick * TICK_MS;
    if (this.#tick % 10 === 0) this.#people.second(this.#now);
    for (const [isolate, outcome] of this.#ends[this.#tick % RING]?.splice(0) ?? []) isolate.outcomes.push(outcome);
    for (let left = this.#people.arrivals(RATE, TICK_MS / 1000); left > 0; left--)
      this.#ask(this.#people.next(ISOLATES));
    for (const [at, isolate] of this.#isolates.entries()) if ((this.#tick + at) % EVERY === 0) this.#tell(isolate);
    for (const arrive of this.#underway.get(this.#tick) ?? []) arrive();
    this.#underway.delete(this.#tick);
    if (this.#state.alarm !== null && this.#state.alarm <= this.#now) this.#send({ kind: "clock" });
    if (this.#state.models.chat?.platform != null)
      this.#platform ??= viewOf(this.#state, "chat", this.#now)?.waiting ?? "";
  }

  #ask(asking: Asking): void {
    const isolate = this.#isolates[asking.isolate] as Isolate;
    const at = this.#now - Math.floor(this.#chance() * TICK_MS);
    const outcome = this.#people.outcome(asking, choose(isolate.split, asking.user.point), at);
    this.#requests++;
    if (outcome.failed) this.#errors++;
    const late = SLOS.latency * 1000;
    const isLate = outcome.total_ms > late;
    if (isLate) this.#later(isolate, { ...outcome, part: "late", failed: false, json: null, refusal: false }, late);
    this.#later(isolate, isLate ? { ...outcome, part: "rest" } : outcome, outcome.total_ms);
  }

  #later(isolate: Isolate, outcome: Outcome, ms: number): void {
    const ticks = Math.min(RING - 1, Math.max(1, Math.ceil(ms / TICK_MS)));
    this.#ends[(this.#tick + ticks) % RING]?.push([isolate, outcome]);
  }

  #tell(isolate: Isolate): void {
    const outcomes = isolate.outcomes.splice(0, MOST);
    if (outcomes.length === 0) return;
    isolate.outcomes = [];
    const batch = { isolate: isolate.name, number: ++isolate.number, outcomes, feedback: [] };
    const arrive = () => {
      this.#send({ kind: "batch", batch });
      isolate.split = this.#live();
    };
    const ticks = this.#chance() < DELAYED ? 11 : 1;
    this.#at(this.#tick + ticks, arrive);
    if (this.#chance() < TWICE) this.#at(this.#tick + ticks + 10, arrive);
  }

  #at(tick: number, arrive: () => void): void {
    this.#underway.set(tick, [...(this.#underway.get(tick) ?? []), arrive]);
  }

  #send(event: Event): void {
    const { state, actions } = advance(this.#state, event, this.#now);
    this.#state = state;
    for (const action of actions) if (action.kind === "journal") this.#journal.push(action.entry);
  }

  #live(): Split {
    return liveSplits(this.#state).weights.chat ?? [];
  }

  #phase(): Phase {
    return this.#state.models.chat?.phase ?? "split";
  }
}

function isOpen(phase: Phase): boolean {
  return phase === "stepping" || phase === "watching";
}
