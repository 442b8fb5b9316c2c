import { expect, it } from "vitest";
import { random } from "../../test/support/random.ts";
import { gate, outcome, rolled, specOf, split, step, TestStage } from "../../test/support/rollout.ts";
import type { Split } from "../config.ts";
import { liveSplits } from "./core.ts";
import type { Event } from "./state.ts";
import type { Command, JournalEntry, ModelSpec, Outcome, Phase, Verdict } from "./types.ts";

const BOTH = 9;
const MODELS = ["chat", "mail"] as const;
const COMMANDS: readonly Command[] = ["pause", "pause", "resume", "resume", "resume", "promote", "abort", "rollback"];
const VERDICTS: readonly Verdict[] = ["pass", "pass", "inconclusive", "fail"];
/** Where a model can be after each phase, unless git changes its spec. */
const AFTER: Record<Phase, readonly Phase[]> = {
  split: [],
  checking: ["stepping", "measuring", "paused", "watching", "aborted", "rolled-back"],
  stepping: ["awaiting", "paused", "watching", "aborted", "rolled-back"],
  awaiting: ["stepping", "paused", "watching", "aborted", "rolled-back"],
  paused: ["checking", "stepping", "awaiting", "measuring", "watching", "aborted", "rolled-back"],
  watching: ["paused", "promoted", "rolled-back"],
  measuring: ["paused", "aborted", "rolled-back"],
  promoted: ["rolled-back"],
  aborted: [],
  "rolled-back": [],
};
const KINDS: readonly JournalEntry["kind"][] = [
  "spec",
  "start",
  "step",
  "approval",
  "promoted",
  "done",
  "paused",
  "resumed",
  "aborted",
  "rolled-back",
  "platform",
  "check",
  "held",
  "refused",
];
const CAUSES = ["spec", "gates", "clock", "person:ann", "person:bo", "gate:errors", "gate:golden"];

class Monkey {
  readonly stage = new TestStage();
  readonly #random: () => number;
  #now = 0;
  #number = 0;
  #orders: string[] = [];
  #ill = { version: 0, share: 0 };
  #sent: Event[] = [];
  #models: ModelSpec[] = [];

  constructor(seed: number) {
    this.#random = random(seed);
  }

  /** One random event, some time after the last one. */
  next(): Event {
    this.#now += this.#pick([0, 100, 500, 500, 500, 5000, 5000, 60_000, 300_000]);
    this.stage.now = 1_000_000 + this.#now;
    // What is ill stays so for a while: a version, both, or none.
    if (this.#random() < 0.04) this.#ill = { version: this.#pick([0, 0, 0, 2, 3, BOTH]), share: this.#random() };
    if (this.#sent.length > 0 && this.#random() < 0.05) return this.#pick(this.#sent);
    const event = this.#made(this.#kind(this.#random()));
    if (event.kind === "batch" || event.kind === "spec") this.#sent = [...this.#sent.slice(-20), event];
    return event;
  }

  #kind(chance: number): Event["kind"] {
    if (chance < 0.02) return "spec";
    if (chance < 0.024) return "withdraw";
    if (chance < 0.06) return "command";
    if (chance < 0.08) return "check";
    return chance < 0.3 ? "clock" : "batch";
  }

  #made(kind: Event["kind"]): Event {
    if (kind === "batch") return this.#batch();
    if (kind === "clock") return { kind };
    const [model, actor] = [this.#pick(MODELS), this.#pick(["ann", "bo"])];
    if (kind === "command") {
      const { revision } = this.stage.state;
      const expect = this.#pick([null, null, revision, revision - 1]);
      return { kind, model, command: this.#pick(COMMANDS), actor, reason: null, expect };
    }
    if (kind === "check")
      return {
        kind,
        model,
        check: "golden",
        verdict: this.#pick(VERDICTS),
        summary: "",
        actor,
        stable: null,
        candidate: null,
      };
    const [order] = this.#orders.length > 0 ? [this.#pick(this.#orders)] : [];
    return kind === "withdraw" && order !== undefined ? { kind, order, actor } : this.#spec();
  }

  #spec(): Event {
    const order = this.#random() < 0.2 && this.#orders.length > 0 ? this.#pick(this.#orders) : this.stage.order();
    this.#orders.push(order);
    const models = Object.fromEntries(
      MODELS.filter(() => this.#random() < 0.9).map((name) => [name, this.#model(name)]),
    );
    return { kind: "spec", spec: specOf(models, order) };
  }

  /** Often the one that holds, or one that has been before. */
  #model(name: string): ModelSpec {
    const held = this.stage.state.models[name]?.spec;
    if (held !== undefined && this.#random() < 0.5) return held;
    const model = this.#models.length > 0 && this.#random() < 0.5 ? this.#pick(this.#models) : this.#newModel();
    this.#models.push(model);
    return model;
  }

  #newModel(): ModelSpec {
    const gates = [gate("errors"), gate("latency"), gate("json", { mode: "observe" })].filter(
      () => this.#random() < 0.8,
    );
    const none = this.#random() < 0.2;
    const common = {
      gates: none ? [] : gates,
      checks: this.#pick([[], [], ["golden"]] as const),
      on_fail: this.#pick(["rollback", "hold"] as const),
      no_control: this.#pick(["rollback", "hold"] as const),
      control: this.#pick([0, 1, 5, 50]),
      watch_s: this.#pick([0, 60, 3600]),
      attempt: this.#pick([1, 2]),
    };
    const steps = [
      step(5, { hold_s: 60, approval: this.#random() < 0.5 }),
      step(30, { approval: true, hold_s: 900 }),
      step(100, { hold_s: 900 }),
    ].slice(this.#pick([0, 1, 2]));
    return this.#pick([
      split([1, 100]),
      split([1, 70], [2, 30]),
      rolled({ ...common, steps }),
      rolled({ ...common, steps, candidates: [3] }),
      rolled({ ...common, strategy: "blue-green", warm_s: 3600, steps: [step(100, { hold_s: 900 })] }),
      rolled({ ...common, strategy: "ab", steps: [], candidates: [2, 3], arms: [20, 30] }),
      rolled({ ...common, strategy: "shadow", steps: [], mirror: 10 }),
    ]);
  }

  #batch(): Event {
    const { version: ill, share } = this.#ill;
    const outcomes = Array.from({ length: Math.floor(this.#random() * 90) }, (): Outcome => {
      const version = this.#pick([1, 1, 2, 3]);
      const failed = (ill === BOTH || version === ill) && this.#random() < share;
      return outcome(version, {
        model: this.#pick(MODELS),
        client: `c${Math.floor(this.#random() * 300)}`,
        at: this.stage.now - this.#pick([0, 0, 0, 400, 30_000]),
        part: this.#pick(["whole", "whole", "whole", "whole", "rest"] as const),
        json: this.#pick([null, false]),
        source: this.#pick(["live", "live", "live", "shadow", "probe"] as const),
        failed,
      });
    });
    this.#number++;
    return { kind: "batch", batch: { isolate: `i${this.#number % 3}`, number: this.#number, outcomes, feedback: [] } };
  }

  #pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random() * items.length)] as T;
  }
}

function sum(weights: Split): number {
  return weights.reduce((total, [, weight]) => total + weight, 0);
}

/** Each entry's phase is one that can follow the one before. */
function legal(from: Phase | undefined, entries: readonly JournalEntry[]): void {
  let phase = from;
  for (const { phase: next } of entries) {
    if (phase !== undefined && next !== phase) expect(AFTER[phase]).toContain(next);
    phase = next;
  }
}

/** What holds for every event, whatever it is. `TestStage` takes the state through JSON each time. */
function check(monkey: Monkey, event: Event): void {
  const { stage } = monkey;
  const before = stage.state;
  const told = stage.journal.length;
  const was = Object.fromEntries(MODELS.map((name) => [name, before.models[name]]));
  stage.send(event);
  const entries = stage.journal.slice(told);
  const live = liveSplits(stage.state);

  expect(stage.state.revision).toBeGreaterThanOrEqual(before.revision);
  expect(entries.map(({ number }) => number)).toEqual(entries.map((_, at) => before.journalNumber + at + 1));
  for (const name of MODELS) {
    const mine = entries.filter(({ model }) => model === name);
    const [old, model] = [was[name], stage.state.models[name]];
    if (model === undefined) continue;
    expect(sum(model.weights)).toBe(100);
    expect(live.weights[name]).toEqual(model.weights);
    const written = stage.journal.findLast((entry) => entry.model === name) as JournalEntry;
    expect([written.weights, written.phase]).toEqual([model.weights, model.phase]);
    const moved = JSON.stringify([old?.phase, old?.weights]) !== JSON.stringify([model.phase, model.weights]);
    if (moved) {
      expect(mine.length).toBeGreaterThan(0);
      expect(stage.state.revision).toBeGreaterThan(before.revision);
    }
    if (event.kind !== "spec" && event.kind !== "withdraw") legal(old?.phase, mine);
    const view = stage.view(name);
    expect(view.waiting).toMatch(/^[a-z]+: .+\.$/);
    expect(view.until === null || view.until >= view.since).toBe(true);
    expect(view.platform && view.until !== null).toBe(false);
    if (view.until !== null && view.until > stage.now) expect(stage.state.alarm).toBeLessThanOrEqual(view.until);
  }
  for (const { sentence, weights } of entries) {
    expect(sum(weights)).toBe(100);
    expect(sentence).toMatch(/^[a-z]+: [^\n]+\.$/);
    expect(sentence).not.toMatch(/undefined|null|NaN|\[object|\.\.$|!/);
  }
}

it("keeps its promises through thousands of random events", { timeout: 120_000 }, () => {
  const met = new Set<string>();
  for (let seed = 1; seed <= 10; seed++) {
    const monkey = new Monkey(seed);
    for (let count = 0; count < 600; count++) check(monkey, monkey.next());
    for (const { kind, cause } of monkey.stage.journal) met.add(kind).add(cause);
  }
  // It has been everywhere.
  expect([...met].sort()).toEqual([...new Set([...KINDS, ...CAUSES])].sort());
});

it("is no different when a batch comes again, at any moment", () => {
  const monkey = new Monkey(7);
  for (let count = 0; count < 400; count++) {
    const event = monkey.next();
    monkey.stage.send(event);
    if (event.kind !== "batch") continue;
    const once = monkey.stage.state;
    expect(monkey.stage.send(event)).toEqual([]);
    expect(monkey.stage.state).toEqual(once);
  }
});
