/** What a UTF-16 unit is to a tokenizer. */
export const Kind = {
  upper: 0,
  lower: 1,
  digit: 2,
  punctuation: 3,
  space: 4,
  newline: 5,
  han: 6,
  kana: 7,
  hangul: 8,
  cjkPunctuation: 9,
  accented: 10,
  cyrillic: 11,
  /** Letters of every other script: Greek, Arabic, Thai, Devanagari and so on. */
  letter: 12,
  /** Half of a character beyond the BMP (emoji, rare Han), and the rare Han within it. */
  rare: 13,
  symbol: 14,
} as const;
export type Kind = (typeof Kind)[keyof typeof Kind];

/** Where a kind begins and where it ends, as the tokenizers treat them; what is in no range is a symbol. */
const RANGES: readonly (readonly [from: number, to: number, kind: Kind])[] = [
  [0x0000, 0x007f, Kind.punctuation],
  [0x0009, 0x0009, Kind.space],
  [0x0020, 0x0020, Kind.space],
  [0x000a, 0x000d, Kind.newline],
  [0x0030, 0x0039, Kind.digit],
  [0x0041, 0x005a, Kind.upper],
  [0x0061, 0x007a, Kind.lower],
  [0x00a0, 0x00a0, Kind.space],
  [0x00c0, 0x024f, Kind.accented],
  [0x1e00, 0x1eff, Kind.accented],
  [0x0250, 0x1dff, Kind.letter],
  [0x0400, 0x052f, Kind.cyrillic],
  [0x1f00, 0x1fff, Kind.letter],
  [0x2e80, 0x2fff, Kind.han],
  [0x3000, 0x303f, Kind.cjkPunctuation],
  [0x3040, 0x30ff, Kind.kana],
  [0x3100, 0x312f, Kind.han],
  [0x3130, 0x318f, Kind.hangul],
  [0x31f0, 0x31ff, Kind.kana],
  [0x3400, 0x4dbf, Kind.rare],
  [0x4e00, 0x9fff, Kind.han],
  [0xa000, 0xabff, Kind.letter],
  [0xac00, 0xd7af, Kind.hangul],
  [0xd800, 0xdfff, Kind.rare],
  [0xf900, 0xfaff, Kind.han],
  [0xfb00, 0xfdff, Kind.letter],
  [0xfe70, 0xfeff, Kind.letter],
  [0xff00, 0xffef, Kind.cjkPunctuation],
];

/** The kind of each unit: a look-up, since prompts are long. */
const TABLE = new Uint8Array(0x10000).fill(Kind.symbol);
for (const [from, to, kind] of RANGES) TABLE.fill(kind, from, to + 1);

export function kindOf(unit: number): Kind {
  return TABLE[unit] as Kind;
}
