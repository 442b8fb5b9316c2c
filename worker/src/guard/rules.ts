import type { Blocklist } from "./blocklist.ts";

/** What is done to an answer; `blocklist` null where the stage has none. */
export interface AnswerRules {
  readonly masks: boolean;
  readonly blocklist: Blocklist | null;
}

/** Told of each hit, by kind: `answer:email`. */
export type Note = (hit: string) => void;
