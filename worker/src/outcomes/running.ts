import type { RequestRecord } from "../record.ts";

/** Of one model; beyond that, requests that hang are told of when they end. */
const MOST = 2_000;

/**
 * Requests on their way, of models with a limit on their latency: one that hangs is told of when its age passes the limit,
 * not when it ends. Each model's are in the order in which they began.
 */
export class Running {
  readonly #slos: ReadonlyMap<string, number>;
  readonly #records = new Map<string, Set<RequestRecord>>();

  /** `slos`: milliseconds by model. */
  constructor(slos: ReadonlyMap<string, number>) {
    this.#slos = slos;
    for (const model of slos.keys()) this.#records.set(model, new Set());
  }

  /** False: its model has no such limit. */
  add(record: RequestRecord): boolean {
    const records = this.#records.get(record.evidence?.model ?? "");
    if (records === undefined) return false;
    if (records.size < MOST) records.add(record);
    return true;
  }

  delete(record: RequestRecord): void {
    this.#records.get(record.evidence?.model ?? "")?.delete(record);
  }

  /** Takes out those whose age has passed their model's limit. */
  *overdue(now: number): Generator<RequestRecord, void, undefined> {
    for (const [model, records] of this.#records) {
      const slo = this.#slos.get(model) ?? Number.POSITIVE_INFINITY;
      for (const record of records) {
        if (now - record.startedAt <= slo) break;
        records.delete(record);
        yield record;
      }
    }
  }

  /** When the next one will be, in milliseconds since the epoch; null while none runs. */
  get nextDue(): number | null {
    let next: number | null = null;
    for (const [model, records] of this.#records) {
      const [first] = records;
      if (first === undefined) continue;
      const due = first.startedAt + (this.#slos.get(model) ?? 0) + 1;
      if (next === null || due < next) next = due;
    }
    return next;
  }
}
