import { describe, expect, it } from "vitest";
import { refusalsOf, rolled, specOf, split, step, TestStage } from "../../test/support/rollout.ts";
import { liveSplits } from "./core.ts";
import { compareOrders } from "./order.ts";

const OLD = "2026-11-29T10:00:00Z\nold";

function kinds(made: TestStage): string[] {
  return made.journal.map(({ kind }) => kind);
}

describe("compareOrders", () => {
  it.each([
    ["2026-11-30T10:00:00Z\na", "2026-11-30T10:00:01Z\na"],
    ["2026-11-30T10:00:00Z\na", "2026-11-30T10:00:00Z\nb"],
    ["2026-11-30T10:00:00Z\nz", "2026-11-30T10:00:00.5Z\na"],
    ["2026-11-30T10:00:00.25Z\nz", "2026-11-30T10:00:00.3Z\na"],
    ["2026-11-30T10:00:00.999Z\nz", "2026-11-30T10:00:01Z\na"],
    ["\na", "2026-11-30T10:00:01Z\na"],
  ])("puts %j before %j", (earlier, later) => {
    expect(compareOrders(earlier, later)).toBe(-1);
    expect(compareOrders(later, earlier)).toBe(1);
  });

  it("knows the same moment however its fraction is written", () => {
    expect(compareOrders("2026-11-30T10:00:00.500Z\na", "2026-11-30T10:00:00.5Z\na")).toBe(0);
  });
});

describe("a plain split", () => {
  it("takes effect at once", () => {
    const made = new TestStage();
    made.spec({ chat: split([1, 90], [2, 10]) });
    expect(made.view()).toMatchObject({ phase: "split", strategy: null, stable: 1, candidates: [], until: null });
    expect(made.sentences(1)).toEqual(["chat: the split is git's, chat@1 90 %, chat@2 10 %."]);
    made.spec({ chat: split([2, 100]) });
    expect(liveSplits(made.state).weights).toEqual({ chat: [[2, 100]] });
  });

  it("ends a rollout that runs, as a `git revert` does", () => {
    const made = new TestStage();
    made.spec({ chat: rolled() });
    made.spec({ chat: split([1, 100]) });
    expect(made.view()).toMatchObject({ phase: "split", weights: [[1, 100]], until: null });
    expect(made.sentences(2)).toEqual([
      "chat: git ends canary of chat@2 against chat@1 at 10 %.",
      "chat: the split is git's, chat@1 100 %.",
    ]);
    expect(made.state.alarm).toBeNull();
  });
});

describe("which spec counts", () => {
  it("with a greater order and the same content moves only the order", () => {
    const made = new TestStage();
    made.spec({ chat: rolled() });
    made.wait(100);
    const before = made.view();
    const order = made.spec({ chat: rolled() });
    expect(made.view()).toEqual({ ...before, order, release: `r-${order}` });
    expect(kinds(made)).toEqual(["start"]);
  });

  it("with a smaller order moves nothing: a late reader, or an older worker version that still serves", () => {
    const made = new TestStage();
    made.spec({ chat: rolled() });
    const before = made.view();
    for (let again = 0; again < 5; again++) made.spec({ chat: split([1, 100]) }, OLD);
    expect(made.view()).toEqual(before);
    expect(liveSplits(made.state, JSON.stringify({ chat: split([1, 100]) })).weights.chat).toEqual(before.weights);
  });

  it("with the current order moves nothing", () => {
    const made = new TestStage();
    const order = made.spec({ chat: rolled() });
    made.spec({ chat: split([3, 100]) }, order);
    expect(made.view().phase).toBe("stepping");
  });

  it("is an older content when it comes back with a greater order: a deliberate return", () => {
    const made = new TestStage();
    made.spec({ chat: split([1, 100]) });
    made.spec({ chat: rolled() });
    made.spec({ chat: split([1, 100]) });
    expect(made.view()).toMatchObject({ phase: "split", weights: [[1, 100]] });
    made.spec({ chat: rolled() });
    expect(made.view()).toMatchObject({ phase: "stepping", step: 0 });
  });

  it("that was promoted begins anew when it comes back deliberately, since what was between may have had its reasons", () => {
    const made = new TestStage();
    made.spec({ chat: rolled({ watch_s: 0 }) });
    made.command("promote");
    made.spec({ chat: split([1, 100]) });
    made.spec({ chat: rolled({ watch_s: 0 }) });
    expect(made.view()).toMatchObject({ phase: "stepping", step: 0 });
  });

  it("leaves models alone whose own spec did not change", () => {
    const made = new TestStage();
    made.spec({ chat: rolled(), mail: split([1, 100]) });
    made.healthy();
    made.wait(600);
    const before = made.view();
    const order = made.spec({ chat: rolled(), mail: split([2, 100]) });
    expect(made.view("mail").weights).toEqual([[2, 100]]);
    const revision = before.revision + 1;
    expect(made.view()).toEqual({ ...before, order, release: `r-${order}`, revision });
  });

  it("begins a changed rollout anew", () => {
    const made = new TestStage();
    made.spec({ chat: rolled() });
    made.healthy();
    made.wait(600);
    made.spec({ chat: rolled({ candidates: [3] }) });
    expect(made.view()).toMatchObject({ phase: "stepping", step: 0, candidates: [3] });
    expect(made.gate("errors").candidate.requests).toBe(0);
    expect(made.sentences(2)).toEqual([
      "chat: git ends canary of chat@2 against chat@1 at 50 %.",
      "chat: canary of chat@3 against chat@1 begins at 10 %.",
    ]);
  });

  it("forgets a model that git no longer declares, but not that it failed", () => {
    const made = new TestStage();
    made.spec({ chat: rolled(), mail: split([1, 100]) });
    made.broken();
    made.spec({ mail: split([1, 100]) });
    expect(Object.keys(liveSplits(made.state).weights)).toEqual(["mail"]);
    made.spec({ chat: rolled(), mail: split([1, 100]) });
    expect(made.view()).toMatchObject({ phase: "rolled-back", held: true });
  });

  it("gives an older worker version also the models that only it has", () => {
    const made = new TestStage();
    const models = { chat: split([1, 100]), mail: split([4, 100]) };
    made.spec(models);
    made.spec({ chat: split([2, 100]) });
    expect(liveSplits(made.state, specOf(models, "").digest).weights).toEqual({ chat: [[2, 100]], mail: [[4, 100]] });
    expect(liveSplits(made.state).weights).toEqual({ chat: [[2, 100]] });
  });

  it("keeps a promoted candidate promoted when git only changes how it is rolled out", () => {
    const made = new TestStage();
    made.spec({ chat: rolled({ watch_s: 60 }) });
    made.command("promote");
    made.traffic(1, [25, 0], [25, 0]);
    made.spec({ chat: rolled({ watch_s: 60, steps: [step(20), step(100)] }) });
    expect(made.view()).toMatchObject({ phase: "watching" });
    expect(made.gate("errors").candidate.requests).toBe(25);
    made.wait(60);
    made.spec({ chat: rolled({ watch_s: 30 }) });
    expect(made.view()).toMatchObject({ phase: "promoted", weights: [[2, 100]] });
    made.spec({ chat: rolled({ watch_s: 30, attempt: 2 }) });
    expect(made.view()).toMatchObject({ phase: "stepping", step: 0 });
  });
});

describe("a withdrawn spec", () => {
  it("is told in the journal also when it isn't the current one, or declares the same, and nothing moves", () => {
    const made = new TestStage();
    const older = made.spec({ chat: rolled() });
    made.spec({ chat: rolled({ attempt: 2 }) });
    const before = made.view();
    made.send({ kind: "withdraw", order: older, actor: "ann" });
    made.send({ kind: "withdraw", order: older, actor: "ann" });
    const told = made.journal.filter(({ sentence }) => sentence.includes("withdrawn"));
    expect(told).toMatchObject([{ kind: "spec", model: "chat", cause: "person:ann", weights: before.weights }]);
    expect(told[0]?.sentence).toContain("id-1 is withdrawn; nothing of chat moves.");
    expect(made.view()).toEqual(before);

    const same = made.spec({ chat: rolled({ attempt: 2 }) });
    made.send({ kind: "withdraw", order: same, actor: "bo" });
    expect(made.sentences(1)[0]).toContain("id-3 is withdrawn; nothing of chat moves.");
  });

  it("ends the rollout that it had begun, which git didn't", () => {
    const made = new TestStage();
    made.spec({ chat: split([1, 100]) });
    const order = made.spec({ chat: rolled() });
    made.send({ kind: "withdraw", order, actor: "ann" });
    expect(made.sentences(2)).toEqual([
      "chat: canary of chat@2 against chat@1 ends at 10 %: the worker version that declared it was withdrawn.",
      "chat: the split is git's, chat@1 100 %.",
    ]);
  });

  it("gives way to the newest known one, and is refused for good", () => {
    const made = new TestStage();
    made.spec({ chat: split([1, 100]) });
    const bad = made.spec({ chat: split([2, 100]) });
    made.send({ kind: "withdraw", order: bad, actor: "ann" });
    expect(made.view().weights).toEqual([[1, 100]]);
    expect(made.journal.at(-1)?.cause).toBe("person:ann");
    for (let again = 0; again < 3; again++) made.spec({ chat: split([2, 100]) }, bad);
    expect(made.view().weights).toEqual([[1, 100]]);
    made.spec({ chat: split([2, 100]) });
    expect(made.view().weights).toEqual([[2, 100]]);
  });

  it("that has not come yet is refused when it does", () => {
    const made = new TestStage();
    made.spec({ chat: split([1, 100]) });
    const order = made.order();
    made.send({ kind: "withdraw", order, actor: "ann" });
    made.spec({ chat: split([2, 100]) }, order);
    expect(made.view().weights).toEqual([[1, 100]]);
  });

  it("gives way past others that were withdrawn, and to one that only a late reader knew", () => {
    const made = new TestStage();
    const [first, second] = [made.spec({ chat: split([2, 100]) }), made.spec({ chat: split([3, 100]) })];
    made.spec({ chat: split([1, 100]) }, OLD);
    made.send({ kind: "withdraw", order: first, actor: "ann" });
    made.send({ kind: "withdraw", order: second, actor: "ann" });
    expect(made.view()).toMatchObject({ weights: [[1, 100]], order: OLD });
  });

  it("brings back a promoted candidate as promoted, and does not roll it out again", () => {
    const made = new TestStage();
    made.spec({ chat: rolled({ watch_s: 0 }) });
    made.command("promote");
    const bad = made.spec({ chat: split([3, 100]) });
    made.send({ kind: "withdraw", order: bad, actor: "ann" });
    expect(made.view()).toMatchObject({ phase: "promoted", weights: [[2, 100]] });
  });

  it("with the same content as the one before moves only the order", () => {
    const made = new TestStage();
    const first = made.spec({ chat: rolled() });
    const second = made.spec({ chat: rolled() });
    made.send({ kind: "withdraw", order: second, actor: "ann" });
    expect(made.view()).toMatchObject({ phase: "stepping", order: first });
    expect(kinds(made)).toEqual(["start", "spec"]);
    expect(made.sentences(1)[0]).toContain("nothing of chat moves.");
  });

  it("is kept when there is nothing to return to", () => {
    const made = new TestStage();
    const order = made.spec({ chat: split([1, 100]) });
    expect(refusalsOf(made.send({ kind: "withdraw", order, actor: "ann" }))).toEqual(["nothing_to_return_to"]);
    expect(made.view()).toMatchObject({ weights: [[1, 100]], order });
  });
});

describe("ro_02", () => {
  it("ro_02_a_spec_that_failed_is_held_until_git_changes_it", () => {
    const made = new TestStage();
    made.spec({ chat: split([1, 100]) });
    made.spec({ chat: rolled() });
    made.broken();
    expect(made.view().phase).toBe("rolled-back");
    const told = made.journal.length;
    for (let reconciled = 0; reconciled < 5; reconciled++) made.spec({ chat: rolled() });
    expect(made.view()).toMatchObject({ phase: "rolled-back", held: true, weights: [[1, 100]] });
    expect(made.journal.length).toBe(told);
    expect(made.view().waiting).toMatch(
      /^chat: chat@1 has it all; the rollout of chat@2 is held until git changes it: /,
    );

    // By way of another commit it is the same spec still.
    made.spec({ chat: split([1, 100]) });
    made.spec({ chat: rolled() });
    expect(made.view()).toMatchObject({ phase: "rolled-back", held: true, weights: [[1, 100]] });
    expect(made.journal.at(-1)).toMatchObject({ kind: "held" });
    expect(made.sentences(1)[0]).toMatch(/^chat: chat@2 is held until git changes this spec: errors fail, /);

    made.spec({ chat: rolled({ candidates: [3] }) });
    expect(made.view()).toMatchObject({ phase: "stepping", candidates: [3], held: false });
  });

  it("ro_02_raising_attempt_tries_the_same_rollout_once_more", () => {
    const made = new TestStage();
    made.spec({ chat: rolled() });
    made.command("abort");
    made.spec({ chat: rolled({ attempt: 2 }) });
    expect(made.view()).toMatchObject({ phase: "stepping", step: 0, held: false });
  });

  it("ro_02_specs_that_arrive_in_reverse_leave_the_newest", () => {
    const made = new TestStage();
    const [b, c] = [made.order(), made.order()];
    made.spec({ chat: split([3, 100]) }, c);
    made.spec({ chat: split([2, 100]) }, b);
    expect(made.view()).toMatchObject({ weights: [[3, 100]], order: c });
  });
});
