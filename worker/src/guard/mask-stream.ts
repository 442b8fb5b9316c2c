import type { TextFilter } from "./filter.ts";
import { bareIn, findHits, type Hit, hasOddQuotes, replaceHits, withoutEscapes } from "./mask.ts";
import { SECRET_NAMES } from "./patterns.ts";

/** Most characters that are held back, and how many of them are kept when that is passed: longer than any short hit. */
const MOST_HELD = 1_024;
const KEPT = 512;
/** A hit that is longer than this is masked before its end is there, and the rest of it dropped as it comes. */
const ENDLESS: Readonly<Record<string, RegExp>> = {
  private_key: /-----END[A-Z ]{0,32}-----|["']/,
  token: /[^\w.~+/=-]/,
};
const ENDLESS_OTHER = /[\s"'`]/;

/** How far back a hit with blanks in it can begin: numbers in groups, a secret behind its name, the head of a key. */
const OPEN_ENDS: readonly RegExp[] = [
  /[+(\d][\d ().-]{0,47}$/,
  /[A-Z]{2}\d{2}[A-Z0-9 ]{0,40}$/,
  /[Bb]earer {0,3}[^\s"']{0,512}$/,
  /api ?$/i,
  /[密口私令]$/,
  /-{1,5}(?:[BE][A-Z ]{0,40})?-{0,5}$/,
  new RegExp(`(?:${SECRET_NAMES.join("|")})["'\`]?[ :：=>is是为]{0,9}["'\`]?[!-~]{0,256}$`, "i"),
];
/** Half of an escape of JSON. */
const OPEN_ESCAPE = /\\(?:u[0-9a-fA-F]{0,3})?$/;

/** Masks a text as it streams: what comes out is the same as if it had been masked whole. */
export class MaskStream implements TextFilter {
  readonly #json: boolean;
  readonly #note: (kind: string) => void;
  #held = "";
  /** The last character that was let go, which a hit may not touch. */
  #before = "";
  /** Whether the text that was let go ends within a string of JSON. */
  #inString = false;
  /** What ends the hit of which the rest is being dropped. */
  #dropping: RegExp | null = null;

  /** `json`: the text is a JSON value, and stays one. `note` is told the kind of each hit. */
  constructor(json: boolean, note: (kind: string) => void) {
    this.#json = json;
    this.#note = note;
  }

  push(text: string): string {
    this.#held += text;
    return this.#dropped() ? this.#release() : "";
  }

  end(): string {
    if (!this.#dropped()) return "";
    const { text, plain } = this.#texts();
    return this.#letGo(text, plain, findHits(plain, this.#before.length), text.length);
  }

  /** Drops what belongs to a hit that was masked before its end was there; false while that end is still to come. */
  #dropped(): boolean {
    if (this.#dropping === null) return true;
    const plain = this.#json ? withoutEscapes(this.#held) : this.#held;
    const end = this.#dropping.exec(plain);
    if (end === null) {
      // The mark of its end may have come in part, and so may an escape.
      let from = Math.max(0, plain.length - 64);
      while (from > 0 && plain[from] !== this.#held[from]) from--;
      this.#held = this.#held.slice(from);
      return false;
    }
    const mark = end[0].length > 1 ? end[0].length : 0;
    this.#held = this.#held.slice(end.index + mark);
    this.#dropping = null;
    return true;
  }

  #texts(): { text: string; plain: string } {
    const text = this.#before + this.#held;
    return { text, plain: this.#json ? withoutEscapes(text) : text };
  }

  #release(): string {
    const { text, plain } = this.#texts();
    const hits = findHits(plain, this.#before.length);
    const length = text.length;
    let cut = openFrom(text, plain, this.#json);
    // From the last to the first: one that moves the cut may move it into another.
    for (const { from, to } of hits.toSorted((left, right) => right.from - left.from)) {
      if (from < cut && (to > cut || to === length)) cut = from;
    }
    if (length - cut > MOST_HELD) {
      const endless = hits.find(({ to }) => to === length);
      if (endless !== undefined) return this.#startDropping(text, plain, hits, endless);
      cut = length - KEPT;
      for (const { from, to } of hits) if (from < cut && to > cut) cut = to;
    }
    return this.#letGo(text, plain, hits, Math.max(cut, this.#before.length));
  }

  #letGo(text: string, plain: string, hits: readonly Hit[], cut: number): string {
    const skipped = this.#before.length;
    const gone = hits.filter(({ end }) => end <= cut);
    for (const { kind } of gone) this.#note(kind);
    // The character before is there to look behind at; its quote, if it is one, was counted already.
    const bare = bareIn(plain.slice(skipped), this.#inString);
    const { text: seen } = replaceHits(text.slice(skipped, cut), moved(gone, skipped), (at) => this.#json && bare(at));
    if (hasOddQuotes(plain, skipped, cut)) this.#inString = !this.#inString;
    this.#before = plain.slice(Math.max(0, cut - 1), cut);
    this.#held = text.slice(cut);
    return seen;
  }

  /** Masks a hit whose end isn't there yet. */
  #startDropping(text: string, plain: string, hits: readonly Hit[], hit: Hit): string {
    const seen = this.#letGo(text, plain, hits, text.length);
    this.#dropping = ENDLESS[hit.kind] ?? ENDLESS_OTHER;
    return seen;
  }
}

function moved(hits: readonly Hit[], by: number): Hit[] {
  return hits.map((hit) => ({ ...hit, start: hit.start - by, end: hit.end - by }));
}

/** From where on a text could be the beginning of a hit. */
function openFrom(text: string, plain: string, json: boolean): number {
  let from = startOfRun(plain);
  const last = Math.max(0, plain.length - 640);
  const tail = plain.slice(last);
  for (const expression of OPEN_ENDS) {
    const open = expression.exec(tail);
    if (open !== null) from = Math.min(from, last + open.index);
  }
  const half = json ? OPEN_ESCAPE.exec(text.slice(-8)) : null;
  return half === null ? from : Math.min(from, Math.max(0, text.length - 8) + half.index);
}

/** Where the run of printable ASCII without quotes begins that the text ends with. */
function startOfRun(text: string): number {
  let at = text.length;
  while (at > 0 && isRun(text.charCodeAt(at - 1))) at--;
  return at;
}

function isRun(unit: number): boolean {
  return unit > 0x20 && unit < 0x7f && unit !== 0x22 && unit !== 0x27 && unit !== 0x60;
}
