import { describe, expect, it } from "vitest";
import { RULES } from "./injection-rules.ts";
import { leadsOf } from "./leads.ts";

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

  it("can be told of nearly all rules, so that a plain text costs next to nothing", () => {
    const sources = RULES.flatMap(({ shapes }) => shapes.map(({ source }) => source));
    expect(sources.filter((source) => leadsOf(source) === null).length).toBeLessThanOrEqual(4);
  });
});
