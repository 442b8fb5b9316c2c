import type { Answer } from "../backends/backend.ts";

/** Longest that a purge goes unseen here: KV's own copies live as long. */
const KEPT_MS = 60_000;
const MOST_ANSWERS = 200;
/** In characters of JSON; an isolate has 128 MB for all that it does. */
const MOST_CHARACTERS = 4_000_000;

interface Recent {
  readonly answer: Answer;
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/**
 * The last answers that this isolate kept or found. KV remembers for up to a minute that a key was not there, so that
 * without these a new answer would be asked for again and again; and they cost no call. Answers are never changed.
 */
export class RecentAnswers {
  readonly #answers = new Map<string, Recent>();
  readonly #now: () => number;
  #characters = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  get(key: string): Answer | null {
    const found = this.#answers.get(key);
    if (found === undefined) return null;
    this.#drop(key, found);
    if (found.until <= this.#now()) return null;
    this.#set(key, found);
    return found.answer;
  }

  /** `expires`: when the answer's own time is over; `size`: length of its JSON. */
  put(key: string, answer: Answer, size: number, expires: number): void {
    const old = this.#answers.get(key);
    if (old !== undefined) this.#drop(key, old);
    this.#set(key, { answer, size, until: Math.min(expires, this.#now() + KEPT_MS) });
    for (const [oldest, recent] of this.#answers) {
      if (this.#answers.size <= MOST_ANSWERS && this.#characters <= MOST_CHARACTERS) break;
      this.#drop(oldest, recent);
    }
  }

  clear(): void {
    this.#answers.clear();
    this.#characters = 0;
  }

  #set(key: string, recent: Recent): void {
    this.#answers.set(key, recent);
    this.#characters += recent.size;
  }

  #drop(key: string, recent: Recent): void {
    this.#answers.delete(key);
    this.#characters -= recent.size;
  }
}
