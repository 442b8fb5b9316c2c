import { describe, expect, it } from "vitest";
import { refusalsOf, rolled, split, step, TestStage } from "../../test/support/rollout.ts";
import type { Command } from "./types.ts";

const COMMANDS: readonly Command[] = ["pause", "resume", "promote", "abort", "rollback"];

/** A stage whose model `chat` is in a phase. */
const IN = {
  split: () => stage(null),
  checking: () => stage({ checks: ["golden"] }),
  stepping: () => stage({}),
  awaiting: () => {
    const made = stage({ gates: [], steps: [step(10, { approval: true }), step(100)] });
    made.wait(600);
    return made;
  },
  paused: () => done(stage({}), "pause"),
  watching: () => done(stage({}), "promote"),
  measuring: () => stage({ strategy: "ab", arms: [10], steps: [] }),
  promoted: () => done(stage({ watch_s: 0 }), "promote"),
  aborted: () => done(stage({}), "abort"),
  "rolled-back": () => done(stage({ watch_s: 0 }), "promote", "rollback"),
} as const;

/** Where each command leads from each phase; what is not here is refused. */
const LEADS: Record<keyof typeof IN, Partial<Record<Command, string>>> = {
  split: {},
  checking: { pause: "paused", promote: "watching", abort: "aborted", rollback: "aborted" },
  stepping: { pause: "paused", promote: "watching", abort: "aborted", rollback: "aborted" },
  awaiting: { pause: "paused", promote: "stepping", abort: "aborted", rollback: "aborted" },
  paused: { resume: "stepping", promote: "watching", abort: "aborted", rollback: "aborted" },
  watching: { pause: "paused", rollback: "rolled-back" },
  measuring: { abort: "aborted", rollback: "aborted" },
  promoted: { rollback: "rolled-back" },
  aborted: {},
  "rolled-back": {},
};

function stage(more: Parameters<typeof rolled>[0] | null): TestStage {
  const made = new TestStage();
  made.spec({ chat: more === null ? split([1, 90], [2, 10]) : rolled(more) });
  return made;
}

function done(made: TestStage, ...commands: Command[]): TestStage {
  for (const command of commands) made.command(command);
  return made;
}

const phases = Object.keys(IN) as (keyof typeof IN)[];

describe.each(phases)("in the phase %s", (phase) => {
  it.each(COMMANDS)("%s does what it should, or is refused and changes nothing", (command) => {
    const made = IN[phase]();
    expect(made.view().phase).toBe(phase);
    const before = made.view();
    const told = made.journal.length;
    const actions = made.command(command);
    const leads = LEADS[phase][command];
    if (leads === undefined) {
      expect(refusalsOf(actions)).toEqual([`cannot_${command}`]);
      expect(made.view()).toEqual(before);
      expect(made.journal.at(-1)).toMatchObject({ kind: "refused", weights: before.weights });
    } else {
      expect(refusalsOf(actions)).toEqual([]);
      expect(made.view().phase).toBe(leads);
      expect(made.view().revision).toBe(before.revision + 1);
      expect(made.journal.at(-1)).toMatchObject({ cause: "person:ann", weights: made.view().weights, phase: leads });
    }
    expect(made.journal.length).toBe(told + 1);
  });
});

describe("commands", () => {
  it("stop the clock and start it again with what was left", () => {
    const made = stage({ gates: [] });
    made.wait(200);
    made.command("pause", { reason: "lunch" });
    expect(made.sentences(1)).toEqual(["chat: chat@2 at 10 % is paused by ann, lunch."]);
    expect(made.state.alarm).toBeNull();
    made.wait(50_000);
    expect(made.view()).toMatchObject({ phase: "paused", paused_from: "stepping", until: null });
    made.command("resume");
    expect(made.view().until).toBe(made.now + 400_000);
    made.wait(400);
    expect(made.view().step).toBe(1);
  });

  it("resume a watch as a watch, and a wait for approval as one", () => {
    const watching = done(IN.watching(), "pause", "resume");
    expect(watching.view()).toMatchObject({ phase: "watching", until: watching.now + 3_600_000 });
    expect(done(IN.awaiting(), "pause", "resume").view().phase).toBe("awaiting");
  });

  it("roll back to stable and no rollout after it, with the person and the reason", () => {
    const made = IN.promoted();
    made.command("rollback", { actor: "bo", reason: "wrong tone" });
    expect(made.view().weights).toEqual([[1, 100]]);
    expect(made.sentences(1)).toEqual(["chat: rolled back to chat@1 by bo, wrong tone."]);
  });

  it("are told as one sentence each", () => {
    expect(done(IN.stepping(), "promote").sentences(1)).toEqual([
      "chat: chat@2 is promoted by ann, before its steps were over. It is watched for 1 h.",
    ]);
    expect(done(IN.paused(), "resume").sentences(1)).toEqual(["chat: chat@2 at 10 % goes on by ann."]);
    const made = done(IN.stepping(), "abort");
    expect(made.sentences(1)).toEqual(["chat: chat@2 is aborted by ann; chat@1 has it all."]);
    expect(made.view().waiting).toBe(
      "chat: chat@1 has it all; the rollout of chat@2 is held until git changes it: ended by ann.",
    );
    made.command("promote");
    expect(made.sentences(1)).toEqual(["chat: promote by ann is refused: chat is aborted, which takes no promote."]);
  });

  it("of two people at once make one transition", () => {
    const made = stage({});
    const { revision } = made.view();
    const first = made.command("promote", { actor: "ann", expect: revision });
    const second = made.command("promote", { actor: "bo", expect: revision });
    expect([refusalsOf(first), refusalsOf(second)]).toEqual([[], ["revision_moved"]]);
    const third = made.command("rollback", { actor: "bo", expect: revision });
    expect(refusalsOf(third)).toEqual(["revision_moved"]);
    expect(made.journal.filter(({ kind }) => kind === "promoted" || kind === "rolled-back")).toHaveLength(1);
  });

  it("that are refused again and again fill no journal, until the model has moved", () => {
    const made = stage({});
    const resumed = () => made.journal.filter(({ kind }) => kind === "refused").length;
    for (let time = 1; time <= 500; time++) expect(refusalsOf(made.command("resume"))).toEqual(["cannot_resume"]);
    expect(resumed()).toBe(10);
    expect(made.sentences(1)[0]).toMatch(/Further refusals are not written down before it moves\.$/);
    made.command("pause");
    made.command("pause");
    expect(resumed()).toBe(11);
  });

  it("are not refused because another model moved, or requests came in", () => {
    const made = new TestStage();
    made.spec({ chat: rolled(), mail: rolled() });
    const { revision } = made.view("chat");
    made.command("pause", { model: "mail" });
    made.healthy();
    expect(refusalsOf(made.command("pause", { expect: revision }))).toEqual([]);
  });

  it("are refused for a revision that never was, and for a model that is not there", () => {
    const made = stage({});
    expect(refusalsOf(made.command("pause", { expect: made.view().revision + 1 }))).toEqual(["revision_moved"]);
    for (const model of ["nope", "__proto__", "constructor"]) {
      expect(refusalsOf(made.command("pause", { model }))).toEqual(["model_not_found"]);
    }
  });

  it("put what a person wrote on one bounded line", () => {
    const made = stage({});
    made.command("pause", { actor: "a\nb\u2028c", reason: `x${"y".repeat(1000)}` });
    const [sentence = ""] = made.sentences(1);
    expect(sentence).toContain("by a b c, xyyy");
    expect(sentence.length).toBeLessThan(300);
  });

  it("take no check where none is declared, or nothing runs", () => {
    expect(refusalsOf(IN.stepping().check("pass"))).toEqual(["no_check_wanted"]);
    expect(refusalsOf(IN.split().check("pass"))).toEqual(["no_check_wanted"]);
    expect(refusalsOf(done(IN.checking(), "abort").check("pass"))).toEqual(["no_check_wanted"]);
  });
});
