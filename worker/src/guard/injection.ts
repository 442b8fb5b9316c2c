import { hiddenTexts, undisguise } from "./disguise.ts";
import { ABOUT_ATTACKS, RULES, type Rule } from "./injection-rules.ts";

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

const HAN = /\p{Script=Han}/u;
const LATIN = /[a-z]{2}/;

/** The rules of one script, and all their shapes in one: most texts meet none, and are searched only once for that. */
class Rules {
  readonly #rules: readonly Rule[];
  readonly #any: RegExp;

  constructor(chosen: (source: string) => boolean) {
    this.#rules = RULES.map((rule) => ({ ...rule, shapes: rule.shapes.filter(({ source }) => chosen(source)) }));
    const sources = this.#rules.flatMap(({ shapes }) => shapes.map(({ source }) => source));
    const words = sources.filter((source) => source.startsWith("\\b")).map((source) => source.slice(2));
    const others = sources.filter((source) => !source.startsWith("\\b"));
    const atWord = words.length === 0 ? [] : [`\\b(?:${words.map(group).join("|")})`];
    this.#any = new RegExp([...atWord, ...others.map(group)].join("|"));
  }

  /** Adds each rule that a text meets, with what it weighs there. */
  tryOn(plain: string, found: Map<string, number>): void {
    if (!this.#any.test(plain)) return;
    const unquoted = plain.replace(QUOTED, " ");
    for (const { name, weight, shapes, quotable } of this.#rules) {
      const met = shapes.filter((shape) => shape.test(plain));
      if (met.length === 0) continue;
      const quoted = quotable !== true && !met.some((shape) => shape.test(unquoted));
      found.set(name, Math.max(found.get(name) ?? 0, quoted ? weight * IN_QUOTES : weight));
    }
  }
}

function group(source: string): string {
  return `(?:${source})`;
}

/** Each shape has words of one script, so that most texts need half of them. */
const IN_HAN = new Rules((source) => HAN.test(source));
const IN_LATIN = new Rules((source) => !HAN.test(source));

/** Looks a text over for prompt injection, in English and Chinese, however its letters are disguised. */
export function findInjection(text: string): Finding {
  const looked = text.length > 2 * LOOKED_AT ? `${text.slice(0, LOOKED_AT)}\n${text.slice(-LOOKED_AT)}` : text;
  const plain = undisguise(looked);
  let best = scoreOf(plain);
  for (const hidden of hiddenTexts(looked)) {
    const inside = scoreOf(undisguise(hidden));
    if (inside.score > best.score) best = { score: inside.score, rules: [...inside.rules, "encoded"] };
  }
  return best;
}

function scoreOf(plain: string): Finding {
  const found = new Map<string, number>();
  if (LATIN.test(plain)) IN_LATIN.tryOn(plain, found);
  if (HAN.test(plain)) IN_HAN.tryOn(plain, found);
  if (found.size === 0) return NOTHING;
  const doubt = [...found.values()].reduce((product, weight) => product * (1 - weight), 1);
  const score = (1 - doubt) * (ABOUT_ATTACKS.test(plain) ? SPOKEN_ABOUT : 1);
  return { score: Math.round(score * 100) / 100, rules: [...found.keys()] };
}
