import { once } from "../once.ts";
import { hiddenTexts, undisguise } from "./disguise.ts";
import { ABOUT_ATTACKS, RULES } from "./injection-rules.ts";
import type { Judge } from "./judge.ts";
import { beginsAtWord, leadsOf } from "./leads.ts";
import { type Lead, leadOf, WordStarts } from "./word-starts.ts";

export interface Finding {
  /** How much a text looks like an attempt to take the model over, from 0 to 1. */
  readonly score: number;
  /** Names of the rules that say so. */
  readonly rules: readonly string[];
}

const NOTHING: Finding = { score: 0, rules: [] };
/** Characters of each end of a longer text that are looked at. */
const LOOKED_AT = 50_000;
/** Speaking about attacks is less of a sign, and so is quoting a few words of one. */
const SPOKEN_ABOUT = 0.6;
const IN_QUOTES = 0.8;
const QUOTED = /["'“‘「『][^"'”’」』\n]{0,60}["'”’」』]/g;

interface Shape {
  readonly expression: RegExp;
  readonly leads: readonly Lead[] | null;
}

type Led = Omit<(typeof RULES)[number], "shapes"> & { readonly shapes: readonly Shape[] };

/** The rules with the words that their shapes begin with: most texts hold few of those. */
const ledRules = once((): readonly Led[] =>
  RULES.map((rule) => ({
    ...rule,
    shapes: rule.shapes.map((expression): Shape => {
      const { source } = expression;
      const atWord = beginsAtWord(source);
      return { expression, leads: leadsOf(source)?.map((text) => leadOf(text, atWord)) ?? null };
    }),
  })),
);

/**
 * Looks a text over for prompt injection, in English and Chinese, however its letters are disguised. What the classifier
 * says counts as one more rule, of a weight as large as it is sure.
 */
export function findInjection(text: string, judge?: Judge): Finding {
  const looked = endsOf(text);
  // Looked at again, since one character may stand for eighteen.
  let best = scoreOf(endsOf(undisguise(looked)), judge);
  for (const hidden of hiddenTexts(looked)) {
    const inside = scoreOf(undisguise(hidden), judge);
    if (inside.score > best.score) best = { score: inside.score, rules: [...inside.rules, "encoded"] };
  }
  return best;
}

function endsOf(text: string): string {
  return text.length > 2 * LOOKED_AT ? `${text.slice(0, LOOKED_AT)}\n${text.slice(-LOOKED_AT)}` : text;
}

function scoreOf(plain: string, judge?: Judge): Finding {
  const rules: string[] = [];
  let doubt = 1;
  let unquoted: string | null = null;
  const starts = new WordStarts(plain);
  for (const { name, weight, shapes, quotable } of ledRules()) {
    const met = shapes.filter((shape) => meets(plain, starts, shape));
    if (met.length === 0) continue;
    unquoted ??= plain.replace(QUOTED, " ");
    const quoted = quotable !== true && !met.some(({ expression }) => expression.test(unquoted as string));
    rules.push(name);
    doubt *= 1 - (quoted ? weight * IN_QUOTES : weight);
  }
  const likely = judge?.(plain) ?? 0;
  if (likely > 0) rules.push("classifier");
  if (rules.length === 0) return NOTHING;
  const told = (1 - doubt) * (ABOUT_ATTACKS.test(plain) ? SPOKEN_ABOUT : 1);
  const score = 1 - (1 - told) * (1 - likely);
  return { score: Math.round(score * 100) / 100, rules };
}

function meets(plain: string, starts: WordStarts, { expression, leads }: Shape): boolean {
  return (leads === null || leads.some((lead) => starts.mayHold(lead))) && expression.test(plain);
}
