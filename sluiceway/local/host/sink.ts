/** Takes events from the scripts inside and posts them on in batches, so that a request never waits for them. */

import { log, text } from "./log.ts";

const MOST_WAITING = 10_000;
const MOST_AT_ONCE = 500;
/** Milliseconds that the first event of a batch waits for others: a post for each request would cost as much as it. */
const LINGER = 25;

export class Sink {
  readonly #url: string | null;
  readonly #post: typeof fetch;
  #waiting: unknown[] = [];
  #dropped = 0;
  #sending = false;

  constructor(url: string | null, post: typeof fetch = fetch) {
    this.#url = url;
    this.#post = post;
  }

  add(events: readonly unknown[]): void {
    if (this.#url === null) return;
    const room = Math.max(0, MOST_WAITING - this.#waiting.length);
    this.#dropped += Math.max(0, events.length - room);
    this.#waiting.push(...events.slice(0, room));
    void this.#send();
  }

  async #send(): Promise<void> {
    if (this.#sending || this.#url === null) return;
    this.#sending = true;
    while (this.#waiting.length > 0) {
      await new Promise((done) => setTimeout(done, LINGER));
      const batch = this.#waiting.splice(0, MOST_AT_ONCE);
      try {
        const answer = await this.#post(this.#url, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(batch),
        });
        await answer.arrayBuffer();
      } catch (error) {
        this.#dropped += batch.length;
        log("warn", "events could not be delivered", { count: batch.length, reason: text(error) });
      }
    }
    this.#sending = false;
    if (this.#dropped > 0) log("warn", "events were dropped", { count: this.#dropped });
    this.#dropped = 0;
  }
}
