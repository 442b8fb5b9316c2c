/** Lets requests through, holds new ones over a reload, and knows when those in flight have ended. */

export class Gate {
  #closed: { promise: Promise<void>; open: () => void } | null = null;
  #inside = 0;
  #emptied: (() => void) | null = null;

  get inside(): number {
    return this.#inside;
  }

  /** Waits while the gate is closed; the returned function must be called once when the request has ended. */
  async enter(): Promise<() => void> {
    while (this.#closed !== null) await this.#closed.promise;
    this.#inside += 1;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#inside -= 1;
      if (this.#inside === 0) this.#emptied?.();
    };
  }

  /** Closes, and waits until all inside have left or `limitMs` is over. Resolves to how many are still inside. */
  async close(limitMs: number): Promise<number> {
    if (this.#closed === null) {
      let open = (): void => {};
      const promise = new Promise<void>((resolve) => {
        open = resolve;
      });
      this.#closed = { promise, open };
    }
    if (this.#inside > 0) {
      const empty = new Promise<void>((resolve) => {
        this.#emptied = resolve;
      });
      await Promise.race([empty, new Promise((resolve) => setTimeout(resolve, limitMs).unref())]);
      this.#emptied = null;
    }
    return this.#inside;
  }

  open(): void {
    const closed = this.#closed;
    this.#closed = null;
    closed?.open();
  }
}
