// Holds rules against the same simulated traffic: node simulate.ts RUNS prints one JSON document. Same runs, same output
// but for the time of an update.
import type { Counts } from "../../worker/src/gates/gate.ts";
import { type Chance, seeded } from "../../worker/test/support/traffic.ts";
import { type Decider, deciders, Ours } from "./rules.ts";

/** Live traffic at a second of the rollout: candidate's share, and how often each arm's requests are bad. */
interface Moment {
  share: number;
  stable: number;
  candidate: number;
}

interface World {
  name: string;
  /** Requests a second. */
  rate: number;
  minutes: number;
  at: (second: number) => Moment;
}

/** Of one rule in one world: of each run when it rolled back, and after how many of candidate's requests. */
interface Row {
  kind: "broken" | "healthy" | "common";
  world: string;
  rule: string;
  runs: number;
  /** Null: not before the end. */
  seconds: (number | null)[];
  requests: (number | null)[];
  /** In how many runs it said that it is the platform. */
  platform: number;
}

const GOOD = 0.01;
/** A ramp of 30 minutes, the same for all. */
const share = (second: number) => [0.05, 0.25, 0.5][Math.floor(second / 600)] ?? 0.5;

const BROKEN: World[] = [10, 50].flatMap((rate) =>
  [0.2, 1].map((candidate) => ({
    name: `${100 * candidate} % of candidate bad, 5 % of ${rate} a second`,
    ...{ rate, minutes: 60, at: () => ({ share: 0.05, stable: GOOD, candidate }) },
  })),
);
const HEALTHY: World[] = [1, 10, 50].flatMap((rate) =>
  [0.01, 0.05].map((bad) => ({
    name: `both ${100 * bad} % bad, ${rate} a second`,
    ...{ rate, minutes: 30, at: (second: number) => ({ share: share(second), stable: bad, candidate: bad }) },
  })),
);
const COMMON: World[] = [10, 50].map((rate) => ({
  name: `both 30 % bad for 25 minutes, ${rate} a second`,
  ...{ rate, minutes: 30 },
  at: (second: number) => {
    const bad = second >= 300 ? 0.3 : GOOD;
    return { share: share(second), stable: bad, candidate: bad };
  },
}));

/** The requests of one half second. */
function draw(requests: number, moment: Moment, chance: Chance): Counts {
  let [mc, yc, ys] = [0, 0, 0];
  for (let request = 0; request < requests; request++) {
    const own = chance() < moment.share;
    const bad = chance() < (own ? moment.candidate : moment.stable);
    if (own) mc += 1;
    if (bad && own) yc += 1;
    if (bad && !own) ys += 1;
  }
  return { ms: requests - mc, ys, mc, yc };
}

/** One run of a world before all rules; each is asked until it has decided. */
function run(world: World, seed: number, rules: readonly Decider[]): Map<string, { second: number; requests: number }> {
  const chance = seeded(seed);
  const decided = new Map<string, { second: number; requests: number }>();
  let [requests, due] = [0, 0];
  for (let half = 1; half <= world.minutes * 120 && decided.size < rules.length; half++) {
    due += world.rate / 2;
    const count = Math.floor(due);
    due -= count;
    const counts = draw(count, world.at((half - 1) / 2), chance);
    requests += counts.mc;
    for (const rule of rules) {
      if (!decided.has(rule.name) && rule.tell(half / 2, counts)) {
        decided.set(rule.name, { second: half / 2, requests });
      }
    }
  }
  return decided;
}

function rows(kind: Row["kind"], world: World, runs: number): Row[] {
  const found = deciders().map(({ name }): Row => {
    return { kind, world: world.name, rule: name, runs, seconds: [], requests: [], platform: 0 };
  });
  for (let seed = 1; seed <= runs; seed++) {
    const rules = deciders();
    const decided = run(world, seed, rules);
    for (const row of found) {
      const when = decided.get(row.rule);
      row.seconds.push(when?.second ?? null);
      row.requests.push(when?.requests ?? null);
      if (row.rule === rules[0].name && rules[0].platform) row.platform += 1;
    }
  }
  return found;
}

/** Microseconds of processor time that one update of a gate takes. */
function cost(): number {
  const chance = seeded(1);
  const batches = Array.from({ length: 1_000 }, () => draw(10, { share: 0.1, stable: 0.03, candidate: 0.03 }, chance));
  const measure = (rounds: number) => {
    const before = process.cpuUsage();
    for (let round = 0; round < rounds; round++) {
      const ours = new Ours();
      for (const batch of batches) ours.tell(0, batch);
    }
    const { user, system } = process.cpuUsage(before);
    return (user + system) / (rounds * batches.length);
  };
  measure(10);
  return measure(50);
}

const runs = Number(process.argv[2] ?? 40);
const kinds = { broken: BROKEN, healthy: HEALTHY, common: COMMON } as const;
const all = Object.entries(kinds).flatMap(([kind, worlds]) =>
  worlds.flatMap((world) => rows(kind as Row["kind"], world, runs)),
);
console.log(JSON.stringify({ rows: all, updateMicroseconds: cost() }));
