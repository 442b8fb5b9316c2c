import { describe, expect, it } from "vitest";
import { RULES } from "./injection-rules.ts";
import { beginsAtWord, leadsOf } from "./leads.ts";
import { leadOf, WordStarts } from "./word-starts.ts";

describe("leadsOf", () => {
  it.each([
    [/\b(?:ignore|do not follow)\b x/, ["ignore", "do not follow"]],
    [/\bsudo\b|root (?:a|b)/, ["sudo", "root "]],
    [/(?:绝对|从)?(?:不能|不要)再/, ["绝对", "从", "不能", "不要"]],
    [/(?:tell|(?:give|show) me) it/, ["tell", "give", "show"]],
    [/!\[[^\]|]{0,9}\]\(/, ["!["]],
    [/<\|(?:a|b)/, ["<|"]],
    [/rules? of/, ["rule"]],
    [/instructions?\b|"role": ?x/, ["instruction", '"role":']],
    [/你(?:的|在)/, ["你"]],
    [/(?:^|\n) ?system/, null],
    [/[【[]?系统/, null],
    [/a?b/, null],
    [/\w+ignore/, null],
    [/(?:ignore){0,2}x/, null],
  ])("of %s are %j", ({ source }, leads) => {
    expect(leadsOf(source)).toEqual(leads);
  });

  it.each([
    [/\bsudo\b|\broot/, true],
    [/\bsudo\b|root/, false],
    [/\b(?:a|b)/, true],
    [/ignore/, false],
  ])("of %s count at the beginning of a word: %s", ({ source }, atWord) => {
    expect(beginsAtWord(source)).toBe(atWord);
  });

  it("can be told of nearly all rules, so that a plain text costs next to nothing", () => {
    const sources = RULES.flatMap(({ shapes }) => shapes.map(({ source }) => source));
    expect(sources.filter((source) => leadsOf(source) === null).length).toBeLessThanOrEqual(4);
  });
});

describe("WordStarts", () => {
  const text = 'please ignore_it, <|im_start|>, "do not", x1sudo, 5root; no 忽略 at the end: ai';

  it.each([
    ["ignore", true, true],
    ["gnore", true, false],
    ["gnore", false, true],
    ["<|", false, true],
    ["do not", true, true],
    ["sudo", true, false],
    ["root", true, false],
    ["no ", true, true],
    ["ai", true, true],
    ["忽略", false, true],
    ["无视", false, false],
    ["forget", true, false],
  ])("may hold %j (at a word: %s): %s", (lead, atWord, may) => {
    expect(new WordStarts(text).mayHold(leadOf(lead, atWord))).toBe(may);
  });

  it("holds no Chinese in a text without any", () => {
    expect(new WordStarts("plain").mayHold(leadOf("忽略", false))).toBe(false);
  });
});
