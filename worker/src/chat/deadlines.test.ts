import { describe, expect, it } from "vitest";
import { Deadline, orAbort } from "./deadlines.ts";

/** What waits for this long is ended by the test's own timeout. */
const BEYOND_TEST_MS = 60_000;

const never = () => new Promise<never>(() => {});

describe("orAbort", () => {
  it("gives what the work gives, and its failure as it is", async () => {
    expect(await orAbort(1_000, new AbortController(), async () => 7)).toBe(7);
    const failure = new Error("theirs");
    await expect(orAbort(1_000, new AbortController(), () => Promise.reject(failure))).rejects.toBe(failure);
  });

  it("aborts work that takes too long, with the 504 that the client gets", async () => {
    const abort = new AbortController();
    await expect(orAbort(20, abort, never)).rejects.toMatchObject({ status: 504, code: "upstream_timeout" });
    expect(abort.signal.reason).toMatchObject({ status: 504 });
  });

  it("gw_17 ends at once when it is aborted, though the work takes no notice", async () => {
    const abort = new AbortController();
    setTimeout(() => abort.abort("gone"), 10);
    await expect(orAbort(BEYOND_TEST_MS, abort, never)).rejects.toBe("gone");
    await expect(orAbort(BEYOND_TEST_MS, abort, never)).rejects.toBe("gone");
  });
});

describe("Deadline", () => {
  it("can be put off again and again, and passes in the end", async () => {
    const abort = new AbortController();
    const deadline = new Deadline(abort);
    for (let step = 0; step < 6; step++) {
      deadline.allow(400);
      await deadline.wait(scheduler.wait(80));
    }
    expect(abort.signal.aborted).toBe(false);
    deadline.allow(30);
    await expect(deadline.wait(never())).rejects.toMatchObject({ code: "upstream_timeout" });
  });

  it("can be brought forward", async () => {
    const deadline = new Deadline(new AbortController());
    deadline.allow(BEYOND_TEST_MS);
    await deadline.wait(Promise.resolve());
    deadline.allow(20);
    await expect(deadline.wait(never())).rejects.toMatchObject({ status: 504 });
  });

  it("doesn't pass while nobody waits: the client is slow then, not the backend", async () => {
    const abort = new AbortController();
    const deadline = new Deadline(abort);
    deadline.allow(20);
    await deadline.wait(Promise.resolve());
    await scheduler.wait(60);
    expect(abort.signal.aborted).toBe(false);
    deadline.allow(500);
    expect(await deadline.wait(scheduler.wait(10).then(() => "there"))).toBe("there");
    deadline.stop();
  });
});
