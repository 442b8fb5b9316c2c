import { describe, expect, it } from "vitest";
import { Account } from "./account.ts";
import type { Grant, Report, SpendLine } from "./protocol.ts";

const line = (nanos: number): SpendLine => ({
  ...{ day: "2026-11-30", key: "k", team: "", model: "chat@1", requests: 1, nanos, prompt: 5, completion: 7 },
});

/** Answers reports with what is granted, or fails; keeps them. */
class FakeLedger {
  readonly reports: Report[] = [];
  granted = 0;
  fails = false;

  async report(report: Report): Promise<Grant> {
    this.reports.push(structuredClone(report));
    if (this.fails) throw new Error("unreachable");
    return { granted: this.granted };
  }
}

const withLease = async (granted: number) => {
  const account = new Account("l", "isolate");
  const ledger = new FakeLedger();
  ledger.granted = granted;
  account.take(100, 0);
  await account.tell(ledger, 0);
  ledger.granted = 0;
  return { account, ledger };
};

describe("Account", () => {
  it("has nothing to spend until the ledger gave it something", async () => {
    const account = new Account("l", "isolate");
    expect(account.take(100, 0)).toBeNull();
    const { account: leased } = await withLease(250);
    expect(leased.take(100, 1)).not.toBeNull();
    expect(leased.take(100, 1)).not.toBeNull();
    expect(leased.take(100, 1)).toBeNull();
  });

  it("gets back to spend what a request didn't come to", async () => {
    const { account } = await withLease(100);
    const hold = account.take(100, 1);
    if (hold === null) throw new Error("the lease carries it");
    account.end(hold, line(30));
    expect(account.take(71, 1)).toBeNull();
    expect(account.take(70, 1)).not.toBeNull();
  });

  it("stops to spend before the ledger stops to hold it, unless it was heard of since", async () => {
    const { account, ledger } = await withLease(300);
    expect(account.take(100, 19_999)).not.toBeNull();
    await account.tell(ledger, 19_999);
    expect(account.take(100, 39_000)).not.toBeNull();
    expect(account.take(100, 39_999)).toBeNull();
    await account.tell(ledger, 39_999);
    expect(ledger.reports.at(-1)).toMatchObject({ busy: 200, idle: 0 });
  });

  it("tells the same batch again, under the same number, until the ledger has it", async () => {
    const { account, ledger } = await withLease(0);
    account.book(line(10));
    ledger.fails = true;
    await expect(account.tell(ledger, 1)).rejects.toThrow();
    account.book(line(5));
    await expect(account.tell(ledger, 2)).rejects.toThrow();
    ledger.fails = false;
    await account.tell(ledger, 3);
    await account.tell(ledger, 4);
    const batches = ledger.reports.slice(1).map(({ batch }) => [batch?.sequence, batch?.lines[0]?.nanos]);
    expect(batches).toEqual([
      [1, 10],
      [1, 10],
      [1, 10],
      [2, 5],
    ]);
    expect(account.dirty).toBe(false);
  });

  it("takes no lease from a report that was overtaken", async () => {
    const account = new Account("l", "isolate");
    const answers: ((grant: Grant) => void)[] = [];
    const slow = { report: () => new Promise<Grant>((resolve) => answers.push(resolve)) };
    account.take(100, 0);
    const [first, second] = [account.tell(slow, 0), account.tell(slow, 1)];
    answers[1]?.({ granted: 150 });
    answers[0]?.({ granted: 150 });
    await Promise.all([first, second]);
    expect(account.take(100, 2)).not.toBeNull();
    expect(account.take(100, 2)).toBeNull();
  });

  it("never tells less held than is on its way", async () => {
    const { account, ledger } = await withLease(1_000);
    const holds = [account.take(300, 1), account.take(300, 1)];
    await account.tell(ledger, 2);
    expect(ledger.reports.at(-1)).toMatchObject({ busy: 600, idle: 400 });
    for (const hold of holds) if (hold !== null) account.end(hold, line(350));
    account.book(line(700));
    await account.tell(ledger, 3);
    expect(ledger.reports.at(-1)).toMatchObject({ busy: 0, idle: 300, batch: { lines: [{ nanos: 700 }] } });
  });

  it("wants less, and gives back what it has, when requests get fewer and cheaper", async () => {
    const { account, ledger } = await withLease(0);
    ledger.granted = 1_000_000;
    account.take(50_000, 1);
    await account.tell(ledger, 1);
    ledger.granted = 0;
    for (let now = 2; now < 60; now++) {
      const hold = account.take(10, now);
      if (hold !== null) account.end(hold, line(10));
      await account.tell(ledger, now);
    }
    expect(ledger.reports[1]).toMatchObject({ each: 50_000, want: 900_000 });
    expect(ledger.reports.at(-1)?.each).toBeLessThan(200);
    expect(ledger.reports.at(-1)?.idle).toBeLessThan(10_000);
  });

  it("adds up what is alike", async () => {
    const { account, ledger } = await withLease(0);
    for (let i = 0; i < 3; i++) account.book(line(10));
    account.book({ ...line(1), model: "chat@2" });
    await account.tell(ledger, 1);
    expect(ledger.reports.at(-1)?.batch?.lines).toEqual([
      { ...line(30), requests: 3, prompt: 15, completion: 21 },
      { ...line(1), model: "chat@2" },
    ]);
  });
});
