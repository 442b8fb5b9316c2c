import type { Message } from "../backends/backend.ts";
import type { ChatRequest } from "../chat/request.ts";
import { once } from "../once.ts";

/** A vector says little about a text that is longer. */
const LONGEST = 4_000;

/** What a request asks, apart from the words in which it asks. */
export interface Question {
  /** The last message of the user: what is compared by its meaning. */
  readonly text: string;
  /** Everything else of the body: what must be the same. */
  readonly rest: Record<string, unknown>;
}

/** Null for a request whose answer isn't a matter of one text: a tool's result, pictures, a very long prompt. */
export function questionOf(request: ChatRequest): Question | null {
  const last = request.messages.at(-1);
  const text = last?.role === "user" ? textAlone(last) : null;
  if (text === null || text.trim() === "" || text.length > LONGEST) return null;
  const earlier = request.messages.slice(0, -1);
  const { content: _, ...fields } = last as Message;
  return { text, rest: { ...request.identity, messages: [...earlier, fields], ...telling(text) } };
}

function textAlone({ content }: Message): string | null {
  if (typeof content === "string" || content === null) return content;
  if (content.some((part) => part.type !== "text")) return null;
  return content.map((part) => part.text ?? "").join("\n");
}

const WORD = "[\\p{L}\\p{N}]+";
const DIGITS = "\\p{N}+(?:[.,:/-]\\p{N}+)*";
const WORDS = [
  ...["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "first"],
  ...["second", "third", "last", "\\w+teen", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty"],
  ...["ninety", "hundred", "thousand", "million", "billion", "half", "quarter", "dozen", "once", "twice"],
];
/** Made with the first question that is compared: few stages do. */
const expressions = once(() => ({
  numbers: new RegExp(`${DIGITS}|\\b(?:${WORDS.join("|")})s?\\b|[零〇一二三四五六七八九十百千万萬亿億两兩半]+`, "giu"),
  negations: /\b(?:not?|never|none|without|cannot|nor)\b|n['’]t\b|[不没沒無无未非勿别別]/giu,
  /** What is whose end: `dollars to euros` and `euros to dollars` have the same words. */
  directions: new RegExp(`\\b(?:to|from|into|than|before|after)\\s+(?:(?:an?|the|my)\\s+)?${WORD}`, "giu"),
}));

/** What turns a meaning round and hardly moves a vector: numbers, directions, and how often a text denies. */
function telling(text: string): { numbers: readonly string[]; directions: readonly string[]; negations: number } {
  const { numbers, directions, negations } = expressions();
  return { numbers: all(text, numbers), directions: all(text, directions), negations: all(text, negations).length };
}

function all(text: string, expression: RegExp): string[] {
  return text.toLowerCase().match(expression) ?? [];
}
