// Measures the guard with its classifier and without: node guard.ts < order.json prints one JSON document.
import { readFileSync } from "node:fs";
import { readLinear } from "../../worker/src/edge/onnx.ts";
import { findInjection } from "../../worker/src/guard/injection.ts";
import { type Judge, newJudge } from "../../worker/src/guard/judge.ts";

interface Asked {
  onnx: string;
  prompts: string[];
  rounds: number;
}

const asked = JSON.parse(readFileSync(0, "utf8")) as Asked;
const judge = newJudge(readLinear(new Uint8Array(readFileSync(asked.onnx))), 0.8);
/** As long as all that the classifier ever reads of one message. */
const LONG = ["The committee met on Tuesday and went through the plans for the library. ".repeat(230).slice(0, 16_000)];

/** Processor time of one text, user and system, in microseconds: the least of the rounds, taken by turns. */
function each(texts: string[], times: number): { rules: number; both: number } {
  const least = { rules: Number.POSITIVE_INFINITY, both: Number.POSITIVE_INFINITY };
  for (let round = -1; round < asked.rounds; round++) {
    const ways: [keyof typeof least, Judge | undefined][] = [
      ["rules", undefined],
      ["both", judge],
    ];
    for (const [way, by] of round % 2 === 0 ? ways : ways.reverse()) {
      const before = process.cpuUsage();
      for (let time = 0; time < times; time++) for (const text of texts) findInjection(text, by);
      const { user, system } = process.cpuUsage(before);
      // The first round is for the compiler.
      if (round >= 0) least[way] = Math.min(least[way], (user + system) / times / texts.length);
    }
  }
  return least;
}

const prompts = each(asked.prompts, 4);
const long = each(LONG, 100);
process.stdout.write(
  `${JSON.stringify({ rules_us: prompts.rules, both_us: prompts.both, long_rules_us: long.rules, long_both_us: long.both })}\n`,
);
