import { describe, expect, it } from "vitest";
import { gate, outcome, stage, type TestStage } from "../../test/support/rollout.ts";
import { marked } from "./hygiene.ts";

const counted = (made: TestStage) => [made.gate("errors").stable.requests, made.gate("errors").candidate.requests];

describe("what is evidence", () => {
  it("was admitted under the weights that hold", () => {
    const made = stage();
    made.now += 5000;
    made.batch([...made.requests(1, 3, { at: made.now - 5001 }), ...made.requests(2, 3, { at: made.now - 5001 })]);
    expect(counted(made)).toEqual([0, 0]);
    made.batch([...made.requests(1, 3, { at: made.now - 5000 }), ...made.requests(2, 2)]);
    expect(counted(made)).toEqual([3, 2]);
  });

  it("after a step is what came after it", () => {
    const made = stage();
    made.healthy();
    const before = [...made.requests(1, 20), ...made.requests(2, 20, { failed: true })];
    made.wait(600);
    const had = counted(made);
    made.batch(before);
    expect(made.view().step).toBe(1);
    expect(counted(made)).toEqual(had);
  });

  it("stays the same while weights do, as a promotion at 100 % leaves them", () => {
    const made = stage({ steps: [{ weight: 100, hold_s: 1, approval: false, margins: {} }] });
    made.healthy();
    const before = [...made.requests(1, 5), ...made.requests(2, 5)];
    made.wait(1);
    expect(made.view().phase).toBe("watching");
    const [stable = 0, candidate = 0] = counted(made);
    made.batch(before);
    expect(counted(made)).toEqual([stable + 5, candidate + 5]);
  });

  it("is of stable or a candidate, live, and no probe", () => {
    const made = stage();
    made.batch([
      ...made.requests(7, 5),
      ...made.requests(1, 5, { source: "probe" }),
      ...made.requests(2, 5, { source: "shadow" }),
    ]);
    made.batch(made.requests(1, 5, { model: "nope" }));
    expect(counted(made)).toEqual([0, 0]);
  });

  it("of a shadow is its mirrored answers against live ones of stable", () => {
    const made = stage({ strategy: "shadow", steps: [], mirror: 20 });
    made.batch([
      ...made.requests(1, 4),
      ...made.requests(1, 8, { source: "shadow" }),
      ...made.requests(2, 3, { source: "shadow" }),
      ...made.requests(2, 5),
    ]);
    expect(counted(made)).toEqual([4, 3]);
  });

  it("does not count in a phase without a rollout under way", () => {
    const made = stage({ checks: ["golden"] });
    made.batch([...made.requests(1, 5), ...made.requests(2, 5)]);
    made.check("pass");
    expect(counted(made)).toEqual([0, 0]);
    made.command("abort");
    const before = made.state.models;
    made.batch([...made.requests(1, 5), ...made.requests(2, 5)]);
    expect(made.state.models).toEqual(before);
  });
});

describe("one client", () => {
  it("counts once for each arm while a block is open, by its first request", () => {
    const made = stage();
    const failed = { client: "loud", failed: true, at: made.now };
    made.batch([outcome(1, { client: "loud", at: made.now }), ...Array.from({ length: 30 }, () => outcome(1, failed))]);
    made.batch([outcome(1, failed), outcome(1, failed)]);
    expect(made.gate("errors").stable).toEqual({ requests: 1, bad: 0 });
    made.batch([outcome(2, { client: "loud", at: made.now }), outcome(2, failed)]);
    expect(made.gate("errors").candidate).toEqual({ requests: 1, bad: 0 });
  });

  it("counts again in the next block", () => {
    const made = stage();
    for (let round = 0; round < 3; round++) {
      made.batch([outcome(1, { at: made.now }), outcome(2, { at: made.now, client: "d" })]);
    }
    expect(counted(made)).toEqual([3, 3]);
  });

  it("counts again after some seconds, though no other arm has closed the block", () => {
    const made = stage();
    const again = () => made.batch([outcome(2, { at: made.now })]);
    for (let second = 0; second < 12; second++) {
      again();
      made.now += 1000;
    }
    expect(counted(made)).toEqual([0, 3]);
  });

  it("counts for each gate by itself", () => {
    const made = stage({ gates: [gate("errors"), gate("json")] });
    made.batch([outcome(1, { at: made.now }), outcome(1, { at: made.now, json: true })]);
    expect(made.gate("errors").stable).toEqual({ requests: 1, bad: 0 });
    expect(made.gate("json").stable).toEqual({ requests: 1, bad: 1 });
  });

  it("is remembered in a bounded list", () => {
    const made = stage();
    for (let round = 0; round < 20; round++) made.batch(made.requests(1, 100));
    expect(counted(made)[0]).toBe(2000);
    expect(JSON.stringify(made.state.models.chat?.arms).length).toBeLessThan(30_000);
  });
});

describe("a thumb", () => {
  it("counts only for a request of the weights that hold, however late it comes", () => {
    const made = stage({ gates: [gate("feedback")] });
    const before = made.now - 1;
    const feedback = [
      { model: "chat", version: 2, client: "late", bad: true, at: before },
      { model: "chat", version: 2, client: "now", bad: true, at: made.now },
    ];
    made.send({ kind: "batch", batch: { isolate: "i", number: 1, outcomes: [], feedback } });
    expect(made.gate("feedback")).toMatchObject({ candidate: { requests: 1, bad: 1 } });
  });

  it("counts for feedback alone", () => {
    const made = stage({ gates: [gate("errors"), gate("feedback")] });
    const thumb = (version: number, bad: boolean) => ({ model: "chat", version, client: made.client(), bad });
    const feedback = [thumb(1, false), thumb(1, true), thumb(2, true), thumb(9, true)];
    made.send({ kind: "batch", batch: { isolate: "i", number: 1, outcomes: [], feedback } });
    expect(made.gate("feedback")).toMatchObject({
      stable: { requests: 2, bad: 1 },
      candidate: { requests: 1, bad: 1 },
    });
    expect(counted(made)).toEqual([0, 0]);
  });
});

describe("a batch", () => {
  it("that comes twice counts once", () => {
    const made = stage();
    const outcomes = [...made.requests(1, 5), ...made.requests(2, 5)];
    made.batch(outcomes, 1);
    const before = made.state;
    expect(made.batch(outcomes, 1)).toEqual([]);
    expect(made.state).toEqual(before);
  });

  it("that is overtaken by later ones still counts, once", () => {
    const made = stage();
    for (const number of [1, 3, 33, 2, 2, 33, 3, 4, 1]) made.batch(made.requests(1, 1), number);
    expect(counted(made)[0]).toBe(5);
  });

  it("from far back is dropped, since it may have been counted", () => {
    const made = stage();
    for (const number of [100, 68, 69]) made.batch(made.requests(1, 1), number);
    expect(counted(made)[0]).toBe(2);
  });

  it("is known by its isolate too, of which the ones heard last are remembered", () => {
    const at = (isolate: string, number = 1) => ({ isolate, number, outcomes: [], feedback: [] });
    let seen = {};
    for (let index = 0; index < 400; index++) seen = marked(seen, at(`iso-${index}`), index) ?? seen;
    expect(Object.keys(seen)).toHaveLength(256);
    expect(marked(seen, at("iso-399"), 400)).toBeNull();
    expect(marked(seen, at("iso-0"), 400)).not.toBeNull();
    expect(marked(seen, at("__proto__"), 400)).not.toBeNull();
  });
});
