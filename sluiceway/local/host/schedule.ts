/** Fires the crons of the world by the clock: the runtime itself never does. */

import { type Cron, nextTime, parseCron } from "./cron.ts";
import { log, text } from "./log.ts";

export type Fire = (script: string, cron: string, time: Date) => Promise<unknown>;

interface Entry {
  readonly script: string;
  readonly cron: string;
  readonly parsed: Cron;
}

/** Timers can't be longer than about 24 days; a look every hour also follows a clock that was set. */
const LONGEST_MS = 3_600_000;

export class Schedule {
  readonly #fire: Fire;
  #entries: Entry[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(fire: Fire) {
    this.#fire = fire;
  }

  /** Replaces what is scheduled. An expression that can't be read is told and left out. */
  set(workers: readonly { name: string; crons: readonly string[] }[]): void {
    this.#entries = workers.flatMap(({ name, crons }) => crons.flatMap((cron) => entry(name, cron)));
    this.#wait(Date.now());
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Looks forward from `from`, so that a time is neither missed nor fired twice. */
  #wait(from: number): void {
    clearTimeout(this.#timer);
    const due = this.#entries.map((one) => ({ ...one, time: nextTime(one.parsed, from) }));
    const soonest = Math.min(...due.map(({ time }) => time ?? Number.POSITIVE_INFINITY));
    if (soonest === Number.POSITIVE_INFINITY) return;
    const delay = Math.max(0, soonest - Date.now());
    if (delay > LONGEST_MS) {
      this.#timer = setTimeout(() => this.#wait(Date.now()), LONGEST_MS);
    } else {
      this.#timer = setTimeout(() => {
        for (const one of due) if (one.time === soonest) void this.#run(one, soonest);
        this.#wait(soonest);
      }, delay);
    }
    this.#timer.unref();
  }

  async #run({ script, cron }: Entry, time: number): Promise<void> {
    try {
      const outcome = await this.#fire(script, cron, new Date(time));
      log("info", "cron fired", { script, cron, outcome });
    } catch (error) {
      log("error", "cron failed", { script, cron, reason: text(error) });
    }
  }
}

function entry(script: string, cron: string): Entry[] {
  try {
    return [{ script, cron, parsed: parseCron(cron) }];
  } catch (error) {
    log("error", "CRON IS NOT SCHEDULED", { script, cron, reason: text(error) });
    return [];
  }
}
