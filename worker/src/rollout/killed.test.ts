import { abortAllDurableObjects, env } from "cloudflare:test";
import { expect, inject, it } from "vitest";
import { random } from "../../test/support/random.ts";
import { outcome, rolled, specOf, step } from "../../test/support/rollout.ts";
import type { GatewayEnv } from "../env.ts";
import type { RolloutPort } from "./port.ts";
import type { JournalEntry } from "./types.ts";

const NOBODY = { webhook_secret: null, format: "json" } as const;
const KILLS = inject("long") ? 50 : 15;
const COMMANDS = ["pause", "resume", "promote", "abort", "rollback"] as const;

/** What came of it, if anything did: nobody is told whether a killed controller had written it. */
const either = (work: Promise<unknown>) => work.catch(() => undefined);

it(`a controller that is killed at ${KILLS} random moments loses no entry, and never serves what its journal doesn't say`, async () => {
  const chance = random(7);
  const controller = () => (env as unknown as GatewayEnv).ROLLOUTS.getByName("killed") as unknown as RolloutPort;
  const steps = [5, 20, 50, 100].map((weight) => step(weight, { hold_s: 0 }));
  const specOfRound = (round: number) =>
    specOf({ chat: rolled({ steps, attempt: round }) }, `2026-11-30T10:00:00.${String(round).padStart(3, "0")}Z\nv`);
  let spec = specOfRound(1);
  let before: readonly JournalEntry[] = [];
  let batches = 0;
  let clients = 0;
  for (let round = 2; round <= KILLS + 1; round++) {
    await controller().splits(spec, "killed", NOBODY);
    const bad = chance() < 0.2;
    const outcomes = [1, 2].flatMap((version) =>
      Array.from({ length: 25 }, () => outcome(version, { client: `c${++clients}`, failed: bad && version === 2 })),
    );
    const order = { model: "chat", actor: "ann", reason: null, expect: null };
    const command = COMMANDS[Math.floor(chance() * COMMANDS.length)] ?? "pause";
    const batch = { isolate: "i", number: ++batches, outcomes, feedback: [] };
    const work = [either(controller().report(spec, batch, []))];
    if (chance() < 0.2) work.push(either(controller().command({ ...order, command })));
    if (chance() < 0.15) {
      spec = specOfRound(round);
      work.push(either(controller().splits(spec, "killed", NOBODY)));
    }
    // Some come to their end, however slow the machine is.
    if (chance() < 0.4) await Promise.all(work);
    else await scheduler.wait(Math.floor(chance() * 6));
    await abortAllDurableObjects();
    await Promise.all(work);

    const { entries } = await controller().journal(null, 0, 1_000);
    const { models } = await controller().views();
    expect(entries.map(({ number }) => number)).toEqual(entries.map((_, index) => index + 1));
    expect(entries.slice(0, before.length)).toEqual(before);
    expect(models[0]?.weights).toEqual(entries.at(-1)?.weights);
    expect(models[0]?.phase).toBe(entries.at(-1)?.phase);
    before = entries;
  }
  expect(new Set(before.map(({ kind }) => kind)).size).toBeGreaterThan(3);
}, 60_000);
