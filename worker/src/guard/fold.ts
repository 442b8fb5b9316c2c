import { once } from "../once.ts";

/** Characters that show nothing, and so can stand within a word without being seen. */
const INVISIBLE =
  /[\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0]|[\ufe00-\ufe0f]/;
const SPACE = /\s/;
const HAN = "\\p{Script=Han}";
const han = once(() => new RegExp(HAN, "u"));

/** The blanks and invisible characters that a text ends with: whether they are all of it, and whether space is among them. */
export function blankEnd(text: string): { whole: boolean; space: boolean } {
  let space = false;
  for (let at = text.length - 1; at >= 0; at--) {
    const unit = text[at] as string;
    // In this order, as one of them counts as a blank too.
    if (INVISIBLE.test(unit)) continue;
    if (!SPACE.test(unit)) return { whole: false, space };
    space = true;
  }
  return { whole: true, space };
}

/** A text as it is compared: each character that counts, and where it stands in the text itself. */
export interface Folded {
  readonly text: string;
  /** Place in the text of each unit of the folded one. */
  readonly places: readonly number[];
}

/**
 * A text without the differences that no reader sees: case, width, invisible characters, how much space, and space
 * between Chinese characters.
 */
export function foldWithPlaces(text: string): Folded {
  const units: string[] = [];
  const places: number[] = [];
  let spaceAt = -1;
  for (let at = 0; at < text.length; at++) {
    const unit = foldUnit(text, at);
    if (unit === "") continue;
    if (SPACE.test(unit)) {
      if (spaceAt === -1) spaceAt = at;
      continue;
    }
    const between = spaceAt !== -1 && !(han().test(unit) && han().test(units.at(-1) ?? ""));
    if (between) {
      units.push(" ");
      places.push(spaceAt);
    }
    spaceAt = -1;
    units.push(unit);
    places.push(at);
  }
  if (spaceAt !== -1) {
    units.push(" ");
    places.push(spaceAt);
  }
  return { text: units.join(""), places };
}

function foldUnit(text: string, at: number): string {
  const code = text.charCodeAt(at);
  if (code < 0x80) return code >= 0x41 && code <= 0x5a ? String.fromCharCode(code + 0x20) : (text[at] as string);
  const unit = text[at] as string;
  if (INVISIBLE.test(unit)) return "";
  const narrow = code >= 0xff01 && code <= 0xff5e ? String.fromCharCode(code - 0xfee0) : unit;
  const lower = narrow.toLowerCase();
  return lower.length === 1 ? lower : narrow;
}
