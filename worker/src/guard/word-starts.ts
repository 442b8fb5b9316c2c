/** Few enough to be set up for every text; that two beginnings may share one costs a search, not a miss. */
const PLACES = 4_096;

/** By which text each place was seen last: one table for all, since setting one up would cost more than a short text. */
const seenBy = new Uint32Array(PLACES);
let texts = 0;

/**
 * Which beginnings of words a text holds, by their first three letters, and whether it holds Chinese: one pass over it.
 * To be asked before the next text is looked over.
 */
export class WordStarts {
  readonly #text: string;
  readonly #number: number;
  #wide = false;

  /** `text` in small letters. */
  constructor(text: string) {
    this.#text = text;
    texts = (texts + 1) >>> 0;
    this.#number = texts;
    let inWord = false;
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      const letter = unit >= 0x61 && unit <= 0x7a;
      if (letter && !inWord) seenBy[threeLetters(text, at)] = texts;
      inWord = letter || (unit >= 0x30 && unit <= 0x39) || unit === 0x5f;
      if (unit >= 0x2e80) this.#wide = true;
    }
  }

  /** Whether the text may hold a lead. */
  mayHold({ text, place, wide }: Lead): boolean {
    if (wide ? !this.#wide : place !== null && seenBy[place] !== this.#number) return false;
    return this.#text.includes(text);
  }
}

/** What a match begins with. */
export interface Lead {
  readonly text: string;
  /** Of its first three letters in the table, where only the beginning of a word counts; null elsewhere. */
  readonly place: number | null;
  /** Whether it is Chinese. */
  readonly wide: boolean;
}

/** `atWord`: only at the beginning of a word does it count. */
export function leadOf(text: string, atWord: boolean): Lead {
  const unit = text.charCodeAt(0);
  const letter = unit >= 0x61 && unit <= 0x7a;
  return { text, place: atWord && letter && text.length > 2 ? threeLetters(text, 0) : null, wide: unit >= 0x2e80 };
}

/** A number below `PLACES` for the three units at a place; whatever is no letter counts as one sign. */
function threeLetters(text: string, at: number): number {
  return (letterAt(text, at) * 331 + letterAt(text, at + 1) * 37 + letterAt(text, at + 2)) % PLACES;
}

function letterAt(text: string, at: number): number {
  const unit = at < text.length ? text.charCodeAt(at) : 0;
  return unit >= 0x61 && unit <= 0x7a ? unit - 0x60 : 0;
}
