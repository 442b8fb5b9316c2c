import { once } from "../once.ts";
import type { TextFilter } from "./filter.ts";
import { blankEnd, foldWithPlaces } from "./fold.ts";

/** What letters continue a word in a script that is written with spaces. */
const inWord = once(() => {
  const scripts = ["Latin", "Cyrillic", "Greek", "Arabic"].map((script) => `\\p{Script=${script}}`);
  return new RegExp(`[${scripts.join("")}\\p{N}_]`, "u");
});

/** Words and phrases that may not be said, in any language; one of a script with spaces is meant as a whole word. */
export class Blocklist {
  readonly #phrases = new Set<string>();
  /** Every beginning of every phrase. */
  readonly #beginnings = new Set<string>();
  #longest = 0;

  constructor(phrases: readonly string[]) {
    for (const written of phrases) {
      const phrase = foldWithPlaces(written).text.trim();
      if (phrase === "") continue;
      this.#phrases.add(phrase);
      this.#longest = Math.max(this.#longest, phrase.length);
      for (let end = 1; end <= phrase.length; end++) this.#beginnings.add(phrase.slice(0, end));
    }
  }

  /** Null for a list with nothing on it. */
  static of(phrases: readonly string[]): Blocklist | null {
    const list = new Blocklist(phrases);
    return list.#phrases.size === 0 ? null : list;
  }

  /** Where the first hit begins, or -1. */
  search(text: string): number {
    return this.scan(text, "", true).hit;
  }

  /**
   * Where the first hit begins (-1: nowhere), and up to where the text is surely none. `before` is the character before
   * it, `over` whether nothing follows.
   */
  scan(text: string, before: string, over: boolean): { hit: number; safe: number } {
    const folded = foldWithPlaces(text);
    const { places } = folded;
    for (let at = 0; at < folded.text.length; at++) {
      const found = this.#at(folded.text, at, before, over);
      if (found === "hit") return { hit: places[at] as number, safe: places[at] as number };
      if (found === "open") return { hit: -1, safe: places[at] as number };
    }
    return { hit: -1, safe: text.length };
  }

  #at(text: string, at: number, before: string, over: boolean): "hit" | "open" | "none" {
    if (inWord().test(text[at] as string) && inWord().test(at === 0 ? before : (text[at - 1] as string))) return "none";
    for (let end = at + 1; end <= text.length && end - at <= this.#longest; end++) {
      const said = text.slice(at, end);
      if (!this.#beginnings.has(said)) return end === text.length && !over && this.#trailing(said) ? "open" : "none";
      if (!this.#phrases.has(said)) continue;
      if (end < text.length && !continues(text[end - 1] as string, text[end] as string)) return "hit";
      // The next character may make another word of it.
      if (end === text.length && (over || !inWord().test(text[end - 1] as string))) return "hit";
    }
    return !over && text.length - at <= this.#longest ? "open" : "none";
  }

  /** A space at the end of what came so far, which counts for nothing if a Chinese character follows. */
  #trailing(said: string): boolean {
    return said.endsWith(" ") && this.#beginnings.has(said.slice(0, -1)) && !inWord().test(said.at(-2) ?? "");
  }
}

function continues(last: string, next: string): boolean {
  return inWord().test(last) && inWord().test(next);
}

/** Lets a text through up to the first hit, and nothing after it. */
export class BlockStream implements TextFilter {
  readonly #list: Blocklist;
  #held = "";
  #before = "";
  /** Whether space is the last that shows of what is held. */
  #spaced = false;
  /** Whether there was a hit. */
  blocked = false;

  constructor(list: Blocklist) {
    this.#list = list;
  }

  push(text: string): string {
    if (this.blocked) return "";
    const same = this.#held !== "" && this.#addsNothing(text);
    this.#held += text;
    return same ? "" : this.#release(false);
  }

  /** Whether the held text reads as before: a row without an end of blanks must not be looked at anew for each of them. */
  #addsNothing(text: string): boolean {
    const { whole, space } = blankEnd(text);
    const same = whole && (this.#spaced || !space);
    this.#spaced = whole ? this.#spaced || space : space;
    return same;
  }

  end(): string {
    return this.blocked ? "" : this.#release(true);
  }

  #release(over: boolean): string {
    const { hit, safe } = this.#list.scan(this.#held, this.#before, over);
    this.blocked = hit !== -1;
    const seen = this.#held.slice(0, safe);
    this.#held = this.#held.slice(safe);
    this.#before = seen.at(-1) ?? this.#before;
    return seen;
  }
}
