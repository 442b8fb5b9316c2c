import { advance, newStage, type StageState, viewOf } from "../../src/rollout/core.ts";
import type { Action, Event } from "../../src/rollout/state.ts";
import type {
  Command,
  GateName,
  GateSpec,
  GateView,
  JournalEntry,
  ModelSpec,
  Outcome,
  RolloutSpec,
  RolloutView,
  StageSpec,
  Step,
  Verdict,
} from "../../src/rollout/types.ts";

const SLOS: Partial<Record<GateName, number>> = { first_token: 2, latency: 10, speed: 20, cost: 0.01 };

export function gate(name: GateName, more: Partial<GateSpec> = {}): GateSpec {
  return { name, margin: 0.05, slo: SLOS[name] ?? null, mode: "enforce", ...more };
}

export function step(weight: number, more: Partial<Step> = {}): Step {
  return { weight, hold_s: 600, approval: false, margins: {}, ...more };
}

/** A canary of version 2 against 1 by 10, 50 and 100 %, with one gate. */
export function rolloutSpec(more: Partial<RolloutSpec> = {}): RolloutSpec {
  return {
    strategy: "canary",
    stable: 1,
    candidates: [2],
    arms: [],
    steps: [step(10), step(50), step(100)],
    gates: [gate("errors")],
    alpha: 0.01,
    beta: 0.05,
    min_fail: 10,
    min_bad: 3,
    min_pass: 50,
    absolute: 0.2,
    control: 5,
    checks: [],
    watch_s: 3600,
    warm_s: 0,
    on_fail: "rollback",
    no_control: "hold",
    grace_s: 300,
    mirror: 0,
    attempt: 1,
    ...more,
  };
}

export function rolled(more: Partial<RolloutSpec> = {}): ModelSpec {
  return { split: [[1, 100]], rollout: rolloutSpec(more) };
}

export function split(...weights: [number, number][]): ModelSpec {
  return { split: weights, rollout: null };
}

export function outcome(version: number, more: Partial<Outcome> = {}): Outcome {
  return {
    model: "chat",
    version,
    client: "c",
    at: Number.MAX_SAFE_INTEGER,
    part: "whole",
    failed: false,
    first_token_ms: 300,
    total_ms: 2000,
    tokens: 100,
    cost_usd: 0.001,
    json: null,
    empty: false,
    refusal: false,
    guard: false,
    source: "live",
    ...more,
  };
}

/** A stage under test: the state goes through JSON at each event, as it does when the controller restarts. */
export class TestStage {
  state: StageState = newStage();
  now = 1_000_000;
  readonly journal: JournalEntry[] = [];
  #clients = 0;
  #batches = 0;
  #orders = 0;

  send(event: Event): Action[] {
    const { state, actions } = advance(this.state, event, this.now);
    if (!isJson(state)) throw new Error("the state would not come back from storage as it went");
    this.state = JSON.parse(JSON.stringify(state)) as StageState;
    for (const action of actions) if (action.kind === "journal") this.journal.push(action.entry);
    return actions;
  }

  /** A spec that was uploaded after all others, and its order. */
  spec(models: Record<string, ModelSpec>, order = this.order()): string {
    this.send({ kind: "spec", spec: specOf(models, order) });
    return order;
  }

  /** The order of an upload later than all before. */
  order(): string {
    this.#orders++;
    return `2026-11-30T10:${String(this.#orders).padStart(2, "0")}:00Z\nid-${this.#orders}`;
  }

  /** Lets time pass and sends the clock. */
  wait(seconds: number): Action[] {
    this.now += seconds * 1000;
    return this.send({ kind: "clock" });
  }

  /** Outcomes of as many different clients, admitted now. */
  requests(version: number, count: number, more: Partial<Outcome> = {}): Outcome[] {
    return Array.from({ length: count }, () => outcome(version, { client: this.client(), at: this.now, ...more }));
  }

  client(): string {
    return `client-${this.#clients++}`;
  }

  batch(outcomes: readonly Outcome[], number = ++this.#batches): Action[] {
    return this.send({ kind: "batch", batch: { isolate: "iso", number, outcomes, feedback: [] } });
  }

  /** Rounds of as many good requests of stable and of the candidate, and the bad ones of each. */
  traffic(
    rounds: number,
    [stable, stableBad]: [number, number],
    [candidate, bad]: [number, number],
    version = 2,
  ): void {
    for (let round = 0; round < rounds; round++) {
      this.batch([
        ...this.requests(1, stableBad, { failed: true }),
        ...this.requests(version, bad, { failed: true }),
        ...this.requests(1, stable),
        ...this.requests(version, candidate),
      ]);
    }
  }

  /** What makes every gate pass. */
  healthy(): void {
    this.traffic(12, [25, 0], [25, 0]);
  }

  /** What makes `errors` fail. */
  broken(): void {
    this.traffic(4, [25, 0], [5, 20]);
  }

  command(command: Command, more: { actor?: string; reason?: string; expect?: number; model?: string } = {}): Action[] {
    const { actor = "ann", reason = null, expect: revision = null, model = "chat" } = more;
    return this.send({ kind: "command", model, command, actor, reason, expect: revision });
  }

  check(
    verdict: Verdict,
    summary = "48 of 50 prompts",
    versions: { stable?: number; candidate?: number } = {},
  ): Action[] {
    const { stable = null, candidate = null } = versions;
    return this.send({
      kind: "check",
      model: "chat",
      check: "golden",
      verdict,
      summary,
      actor: "ci",
      stable,
      candidate,
    });
  }

  view(model = "chat"): RolloutView {
    const view = viewOf(this.state, model, this.now);
    if (view === null) throw new Error(`no model ${model}`);
    return view;
  }

  gate(name: GateName): GateView {
    const found = this.view().gates.find((one) => one.name === name);
    if (found === undefined) throw new Error(`no gate ${name}`);
    return found;
  }

  /** The last sentences of the journal. */
  sentences(count: number): string[] {
    return this.journal.slice(-count).map(({ sentence }) => sentence);
  }
}

/** Whether a value is the same after it was written as JSON and read: no hole, no NaN, no -0, nothing but plain values. */
function isJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  if (value === null || typeof value === "string" || typeof value === "boolean") return true;
  if (Array.isArray(value)) return value.every(isJson);
  const isPlain = typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype;
  return isPlain && Object.values(value).every(isJson);
}

export function specOf(models: Record<string, ModelSpec>, order: string, release = `r-${order}`): StageSpec {
  return { order, digest: JSON.stringify(models), release, models };
}

export function refusalsOf(actions: readonly Action[]): string[] {
  return actions.flatMap((action) => (action.kind === "refuse" ? [action.code] : []));
}

export function alarmOf(actions: readonly Action[]): number | null | undefined {
  return actions.flatMap((action) => (action.kind === "alarm" ? [action.at] : [])).at(-1);
}

/** A stage that one rollout of `chat` has begun on. */
export function stage(more: Parameters<typeof rolled>[0] = {}): TestStage {
  const made = new TestStage();
  made.spec({ chat: rolled(more) });
  return made;
}
