import { DurableObject } from "cloudflare:workers";
import type { Rollouts } from "../config-rollout.ts";
import { sendProbes } from "../outcomes/probe.ts";
import { type Action, advance, type Event, liveSplits, newStage, rampView, type StageState, viewOf } from "./core.ts";
import { Facts } from "./facts.ts";
import { Journal } from "./journal.ts";
import { Notices } from "./notify.ts";
import { compareOrders } from "./order.ts";
import type {
  CheckReport,
  Done,
  FeedbackResult,
  JournalPage,
  Order,
  RampOrder,
  Refusal,
  Served,
  SpecName,
  StageView,
} from "./port.ts";
import { ServedRequests } from "./served-requests.ts";
import { StoredState } from "./stored-state.ts";
import type { Batch, JournalEntry, LiveSplits, RampView, RolloutView, StageSpec } from "./types.ts";

/** Thumbs come one by one, from no isolate: they count as batches of this one. */
const THUMBS = "thumbs";

/**
 * Owner of the stage's live split. Storage, time and the alarm here, decisions in `core.ts`. Each call is done in one go,
 * and what it changes is written together with its journal entries: neither is ever there without the other.
 */
export class RolloutController extends DurableObject<Record<string, unknown>> {
  readonly #stored: StoredState<StageState>;
  readonly #journal: Journal;
  readonly #notices: Notices;
  readonly #facts: Facts;
  readonly #served: ServedRequests;
  #state: StageState;

  constructor(ctx: DurableObjectState, env: Record<string, unknown>) {
    super(ctx, env);
    const { sql } = ctx.storage;
    // Of a time when each spec had weights of its own, which nothing ever moved.
    sql.exec("DROP TABLE IF EXISTS specs");
    this.#stored = new StoredState<StageState>(sql);
    this.#journal = new Journal(sql);
    this.#notices = new Notices(sql);
    this.#facts = new Facts(sql);
    this.#served = new ServedRequests(sql);
    this.#state = this.#stored.read() ?? newStage();
    // Whatever ended the object before: no hold is waited for in vain.
    if (this.#state.alarm !== null) this.#setAlarm();
  }

  splits(spec: StageSpec, stage: string, notify: Rollouts): LiveSplits {
    if (this.#isNewest(spec.order)) this.#facts.audience = { ...notify, stage, order: spec.order };
    if (this.#state.spec?.order !== spec.order) this.#apply({ kind: "spec", spec });
    return liveSplits(this.#state, spec.digest);
  }

  live(spec: SpecName): LiveSplits | null {
    // Who is to be told is said with the whole spec alone.
    return this.#knows(spec) && !this.#isNewest(spec.order) ? liveSplits(this.#state, spec.digest) : null;
  }

  report(spec: SpecName, batch: Batch, served: readonly Served[]): LiveSplits | null {
    if (!this.#knows(spec)) return null;
    const { seen } = this.#state;
    if (batch.outcomes.length > 0 || batch.feedback.length > 0)
      this.#apply({ kind: "batch", batch, worker: spec.order.split("\n")[1] ?? "" });
    // What comes once more must not undo a thumb that has been given since.
    if (this.#state.seen !== seen) this.#served.add(served, Date.now());
    return liveSplits(this.#state, spec.digest);
  }

  feedback(id: string, caller: string, bad: boolean): FeedbackResult {
    const request = this.#served.find(id, caller, Date.now());
    if (request === null) return "unknown";
    if (request.rated) return "repeated";
    const { model, version, client, at } = request;
    this.#served.rate(id, caller);
    const feedback = [{ model, version, client, bad, at }];
    this.#apply({
      kind: "batch",
      batch: { isolate: THUMBS, number: this.#facts.nextThumb(), outcomes: [], feedback },
    });
    return "counted";
  }

  command(order: Order): Done<RolloutView> {
    return this.#do({ kind: "command", ...order }, () => this.#view(order.model));
  }

  check(report: CheckReport): Done<RolloutView> {
    return this.#do({ kind: "check", ...report }, () => this.#view(report.model));
  }

  withdraw(order: string, actor: string): Done<StageView> {
    return this.#do({ kind: "withdraw", order, actor }, () => this.views());
  }

  views(): StageView {
    const { revision, spec, models } = this.#state;
    return {
      stage: this.#facts.audience?.stage ?? "",
      revision,
      order: spec?.order ?? null,
      release: spec?.release ?? null,
      models: Object.keys(models).map((name) => this.#view(name)),
    };
  }

  ramp(order?: RampOrder | null): RampView | null {
    if (order !== undefined) this.#apply({ kind: "ramp", order });
    return rampView(this.#state.ramp);
  }

  journal(model: string | null, after: number, limit: number): JournalPage {
    return this.#journal.page(model, after, limit);
  }

  override async alarm(): Promise<void> {
    const now = Date.now();
    if (this.#state.alarm !== null && this.#state.alarm <= now) this.#apply({ kind: "clock" });
    await this.#notices.send(now, (name) => this.env[name]);
    this.#setAlarm();
  }

  /** Whether a worker version says who is to be told: the newest one that was not withdrawn. */
  #isNewest(order: string): boolean {
    const { audience } = this.#facts;
    const { withdrawn } = this.#state;
    if (withdrawn.includes(order)) return false;
    return audience === null || withdrawn.includes(audience.order) || compareOrders(order, audience.order) > 0;
  }

  /** Whether this worker version's spec has been told, or is too old to be. */
  #knows({ order }: SpecName): boolean {
    const { spec, withdrawn } = this.#state;
    return spec !== null && (compareOrders(order, spec.order) <= 0 || withdrawn.includes(order));
  }

  #view(model: string): RolloutView {
    const view = viewOf(this.#state, model, Date.now());
    if (view === null) throw new Error(`no model ${model}`);
    return view;
  }

  #do<T>(event: Event, answer: () => T): Done<T> {
    const refused = this.#apply(event);
    return refused === null ? { done: answer() } : { refused };
  }

  /** Lets an event happen; why not, where it was refused. */
  #apply(event: Event): Refusal | null {
    const { alarm } = this.#state;
    // The alarm may come late, and what happens after a hold was over must find it over.
    if (event.kind !== "clock" && alarm !== null && alarm <= Date.now()) this.#apply({ kind: "clock" });
    const { state, actions } = advance(this.#state, event, Date.now());
    const entries = actions.flatMap((action) => (action.kind === "journal" ? [action.entry] : []));
    this.#keep(state, entries);
    for (const action of actions) {
      if (action.kind === "probe")
        this.ctx.waitUntil(sendProbes(this.#facts.audience?.stage ?? "", action, this.env, this.ctx));
    }
    for (const entry of entries) log(this.#facts.audience?.stage ?? "", entry);
    if (entries.length > 0 || actions.some(({ kind }) => kind === "alarm")) this.#setAlarm();
    return refusalIn(actions);
  }

  #keep(state: StageState, entries: readonly JournalEntry[]): void {
    if (state === this.#state && entries.length === 0) return;
    try {
      this.ctx.storage.transactionSync(() => {
        this.#stored.write(state);
        for (const entry of entries) {
          this.#journal.add(entry);
          if (entry.kind !== "refused") this.#notices.add(entry, this.#facts.audience);
        }
      });
    } catch (error) {
      // What was not written has not happened.
      this.#state = this.#stored.read() ?? newStage();
      throw error;
    }
    this.#state = state;
  }

  /** For the next hold that is over or the next notice that is due, whichever is first. */
  #setAlarm(): void {
    const { storage } = this.ctx;
    const next = Math.min(this.#state.alarm ?? Number.POSITIVE_INFINITY, this.#notices.due ?? Number.POSITIVE_INFINITY);
    void (Number.isFinite(next) ? storage.setAlarm(Math.max(next, Date.now())) : storage.deleteAlarm());
  }
}

function refusalIn(actions: readonly Action[]): Refusal | null {
  for (const action of actions) {
    if (action.kind !== "refuse") continue;
    const { code, message, hint } = action;
    return { code, message, hint };
  }
  return null;
}

/** The journal's own sentence, in the log too. */
function log(stage: string, { number, model, kind, sentence, phase, weights, release, cause }: JournalEntry): void {
  const level = kind === "rolled-back" || kind === "platform" ? "warn" : "info";
  console.log(
    JSON.stringify({ event: "rollout", level, stage, number, model, kind, sentence, phase, weights, release, cause }),
  );
}
