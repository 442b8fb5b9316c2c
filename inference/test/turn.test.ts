import { expect, it } from "vitest";
import { Turn } from "../src/turn.ts";

it("runs one at a time, in order, and goes on after one that failed", async () => {
  const turn = new Turn(10);
  let running = 0;
  const order: number[] = [];
  const work = (at: number) => async (): Promise<number> => {
    running += 1;
    expect(running).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 1));
    running -= 1;
    order.push(at);
    if (at === 1) throw new Error("one");
    return at;
  };
  const done = await Promise.allSettled([0, 1, 2, 3].map((at) => turn.take(work(at))));
  expect(done.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
  expect(order).toEqual([0, 1, 2, 3]);
  expect(turn.waiting).toBe(0);
});

it("tells who comes when too many are here to come again, and takes others once they are gone", async () => {
  const turn = new Turn(2);
  let open = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const here = [turn.take(() => gate), turn.take(async () => undefined)];
  await expect(turn.take(async () => undefined)).rejects.toMatchObject({ status: 429, code: "busy" });
  open();
  await Promise.all(here);
  await expect(turn.take(async () => 1)).resolves.toBe(1);
});

it("passes by one whose request has died, running or waiting, and not by one that is still there", async () => {
  let now = 0;
  const turn = new Turn(2, () => now);
  void turn.take(() => new Promise(() => undefined));
  let done = false;
  const next = turn.take(async () => {
    done = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(done).toBe(false);
  now = 30_001;
  await next;
  expect([done, turn.waiting]).toEqual([true, 0]);
  await expect(turn.take(async () => 1)).resolves.toBe(1);
});
