import { Kind } from "./characters.ts";

/**
 * Tokens by piece, fitted by least squares to the tokenizers of DeepSeek V4 and Qwen on READMEs, manuals and source code
 * that are not among the samples of `tests/contract/tokens.json`.
 */
export const WEIGHTS = {
  /** By the letters of a word, up to nine. */
  word: [0, 1.09, 1.01, 1.01, 1, 1, 1, 1.36, 1.36, 1.36],
  longWord: 1.29,
  furtherLetter: 0.24,
  capitals: 0.85,
  capital: 0.13,
  threeDigits: 1.54,
  digit: 0.2,
  punctuation: 0.7,
  furtherPunctuation: 0.19,
  spaces: 1.09,
  newlines: 0.56,
  hanRun: 0.75,
  han: 0.55,
  letterRun: 0.4,
  letter: { [Kind.cyrillic]: 0.3, [Kind.letter]: 0.5 },
  single: {
    [Kind.kana]: 0.6,
    [Kind.hangul]: 0.9,
    [Kind.cjkPunctuation]: 0.7,
    [Kind.accented]: 0.5,
    // Two of them are one character, of two tokens.
    [Kind.rare]: 1,
    [Kind.symbol]: 0.9,
  },
} as const;
