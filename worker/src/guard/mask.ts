import { once } from "../once.ts";
import { PATTERNS, type Pattern } from "./patterns.ts";

/** A part of a text that is not to be seen, and the whole that it was known by. */
export interface Hit {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
  readonly from: number;
  readonly to: number;
}

interface Finder extends Pattern {
  readonly expression: RegExp;
}

const finders = once((): readonly Finder[] =>
  PATTERNS.map((pattern) => ({ ...pattern, expression: new RegExp(pattern.shape, flagsOf(pattern)) })),
);

function flagsOf({ kind, shape }: Pattern): string {
  // Where a group lies is dear to know, and asked of few.
  return `g${shape.includes("(?<value>") ? "d" : ""}${kind === "secret" ? "i" : ""}`;
}

/** Every pattern needs one of these; most prose has none. */
const PROMISING =
  /[\d@:=]|-----|eyJ|[sprk]k[-_]|AKIA|ASIA|AGPA|AROA|AIza|AKID|LTAI|xox|xapp-|密|口令|令牌| is |[Bb]earer/;

/** Secrets and personal data in a text, in order, none over another. `from`: what is before is only looked behind at. */
export function findHits(text: string, from = 0): Hit[] {
  if (!PROMISING.test(text)) return [];
  const hits: Hit[] = [];
  let taken: Uint8Array | null = null;
  for (const finder of finders()) {
    if (finder.hint !== undefined && !text.includes(finder.hint)) continue;
    for (const hit of hitsOf(finder, text, from)) {
      taken ??= new Uint8Array(text.length);
      if (taken.subarray(hit.start, hit.end).includes(1)) continue;
      taken.fill(1, hit.start, hit.end);
      hits.push(hit);
    }
  }
  return hits.sort((left, right) => left.start - right.start);
}

function* hitsOf({ expression, kind, real }: Finder, text: string, first: number): Generator<Hit, void, undefined> {
  let from = first;
  for (;;) {
    // Set anew each time, since a generator that is left half-way would leave its place behind.
    expression.lastIndex = from;
    const match = expression.exec(text);
    if (match === null) return;
    const start = match.index;
    const to = start + match[0].length;
    if (real !== undefined && !real(match[0])) {
      // Digits that are none of it may hide one that is, a few places on.
      from = start + 1;
      continue;
    }
    const [begin, end] = match.indices?.groups?.value ?? [start, to];
    yield { kind, start: begin, end, from: start, to };
    from = Math.max(to, start + 1);
  }
}

export interface Masked {
  readonly text: string;
  /** Kinds of what was masked; empty when the text is as it was. */
  readonly kinds: readonly string[];
}

/** A text with `[email]`, `[key]` and so on in place of what is secret or personal. */
export function mask(text: string): Masked {
  return replaceHits(text, findHits(text), () => false);
}

/** The same for the text of a JSON value, which stays one. */
export function maskJson(text: string): Masked {
  const plain = withoutEscapes(text);
  return replaceHits(text, findHits(plain), bareIn(plain));
}

/** What a log may hold of a text. */
export function maskForLog(text: string): string {
  return mask(text).text;
}

/** `bare`: whether a place lies outside the strings of JSON, where a word of ours needs quotes. */
export function replaceHits(text: string, hits: readonly Hit[], bare: (at: number) => boolean): Masked {
  if (hits.length === 0) return { text, kinds: [] };
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, kind } of hits) {
    parts.push(text.slice(at, start), bare(start) ? `"[${kind}]"` : `[${kind}]`);
    at = end;
  }
  parts.push(text.slice(at));
  return { text: parts.join(""), kinds: [...new Set(hits.map(({ kind }) => kind))] };
}

/** JSON with blanks in place of its escapes, as long as before: `\n` is no letter, and `\"` ends no string. */
export function withoutEscapes(json: string): string {
  return json.replace(/\\(?:u[0-9a-fA-F]{4}|.)/gs, (escaped) => " ".repeat(escaped.length));
}

/** Tells of rising places whether they lie outside strings. `inside`: whether the text begins within one. */
export function bareIn(plain: string, inside = false): (at: number) => boolean {
  let counted = 0;
  let within = inside;
  return (at) => {
    if (hasOddQuotes(plain, counted, at)) within = !within;
    counted = at;
    return !within;
  };
}

const QUOTE = 0x22;

export function hasOddQuotes(text: string, from: number, to: number): boolean {
  let odd = false;
  // No search, which would go on to the text's end each time that there is none.
  for (let at = from; at < to; at++) if (text.charCodeAt(at) === QUOTE) odd = !odd;
  return odd;
}
