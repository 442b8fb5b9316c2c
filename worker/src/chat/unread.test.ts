import { describe, expect, it } from "vitest";
import { Unread } from "./unread.ts";

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe("Unread", () => {
  it("tells once that a piece was left unread", async () => {
    let told = 0;
    const unread = new Unread(20, () => told++);
    unread.given();
    await expect.poll(() => told).toBe(1);
    await sleep(60);
    expect(told).toBe(1);
  });

  it("tells nothing while the client waits for the next piece, however long that takes", async () => {
    let told = 0;
    const unread = new Unread(20, () => told++);
    unread.given();
    unread.read();
    await sleep(100);
    expect(told).toBe(0);
    unread.given();
    await expect.poll(() => told).toBe(1);
  });

  it("tells nothing of a client that always comes back in time", async () => {
    let told = 0;
    const unread = new Unread(500, () => told++);
    for (let piece = 0; piece < 60; piece++) {
      unread.given();
      await sleep(10);
      unread.read();
    }
    unread.stop();
    expect(told).toBe(0);
  });

  it("tells nothing after the end", async () => {
    let told = 0;
    const unread = new Unread(20, () => told++);
    unread.given();
    unread.stop();
    await sleep(60);
    expect(told).toBe(0);
  });
});
