import { describe, expect, it } from "vitest";
import type { Answer } from "../backends/backend.ts";
import type { Route } from "../routing/route.ts";
import { Flights, type Leader, type Shared, type Turn } from "./flights.ts";

const ANSWER: Answer = {
  choices: [{ index: 0, message: { role: "assistant", content: "yes" }, finish_reason: "stop" }],
  usage: null,
};
const SHARED: Shared = { answer: ANSWER, by: { model: "chat" } as Route, fallback: null };
const never = new AbortController().signal;

function leaderOf(turn: Turn): Leader {
  if (turn === "alone" || !("leader" in turn)) throw new Error(`not the leader: ${JSON.stringify(turn)}`);
  return turn.leader;
}

const isLeader = (turn: Turn) => turn !== "alone" && "leader" in turn;

describe("Flights", () => {
  it("lets one ask and gives the others its answer", async () => {
    const flights = new Flights(Date.now);
    const leader = leaderOf(await flights.turn("k", 1000, never));
    const others = Promise.all([1, 2, 3].map(() => flights.turn("k", 1000, never)));
    leader.share(SHARED);
    leader.end(false);
    expect(await others).toEqual([SHARED, SHARED, SHARED]);
    expect(isLeader(await flights.turn("k", 1000, never))).toBe(true);
  });

  it("keeps keys apart", async () => {
    const flights = new Flights(Date.now);
    const turns = await Promise.all(["a", "b"].map((key) => flights.turn(key, 1000, never)));
    expect(turns.map(isLeader)).toEqual([true, true]);
  });

  it("lets all ask for themselves when the leader has nothing to share", async () => {
    const flights = new Flights(Date.now);
    const leader = leaderOf(await flights.turn("k", 1000, never));
    const others = Promise.all([1, 2].map(() => flights.turn("k", 1000, never)));
    leader.end(false);
    expect(await others).toEqual(["alone", "alone"]);
  });

  it("lets exactly one take over when the leader leaves", async () => {
    const flights = new Flights(Date.now);
    leaderOf(await flights.turn("k", 1000, never)).end(true);
    const first = leaderOf(await flights.turn("k", 1000, never));
    const others = [1, 2, 3].map(() => flights.turn("k", 1000, never));
    first.end(true);
    const next = await Promise.race(others);
    await scheduler.wait(100);
    leaderOf(next).share(SHARED);
    const all = await Promise.all(others);
    expect(all.filter(isLeader)).toHaveLength(1);
    expect(all.filter((turn) => turn !== "alone" && "answer" in turn)).toHaveLength(2);
  });

  it("waits no longer than it is told to, and not at all for 0", async () => {
    const flights = new Flights(Date.now);
    leaderOf(await flights.turn("k", 1000, never));
    const within = (ms: number, turn: Promise<unknown>) =>
      Promise.race([turn, scheduler.wait(ms).then(() => "too late")]);
    expect(await within(1, flights.turn("k", 0, never))).toBe("alone");
    expect(await within(5_000, flights.turn("k", 60, never))).toBe("alone");
  });

  it("takes the lead from one that the runtime has ended", async () => {
    let now = 0;
    const flights = new Flights(() => now);
    const lost = leaderOf(await flights.turn("k", 1000, never));
    now = 60_001;
    const next = await flights.turn("k", 1000, never);
    expect(isLeader(next)).toBe(true);
    lost.end(false);
    expect(await flights.turn("k", 0, never)).toBe("alone");
  });

  it("ends the waiting of a client that leaves", async () => {
    const flights = new Flights(Date.now);
    leaderOf(await flights.turn("k", 1000, never));
    const client = new AbortController();
    const waiting = flights.turn("k", 1000, client.signal);
    client.abort(new Error("left"));
    await expect(waiting).rejects.toThrow("left");
  });
});
