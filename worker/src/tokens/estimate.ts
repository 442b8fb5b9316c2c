import type { Answer, Message, Usage } from "../backends/backend.ts";
import { Kind, kindOf } from "./characters.ts";
import { WEIGHTS } from "./weights.ts";

/** Role and separators of one message. */
const MESSAGE_OVERHEAD = 4;
/** A picture or another part that is not text: what models take for one of middle size. */
const PART_TOKENS = 1_024;
/** Longest rows of blanks and of line feeds that vocabularies have as one token. */
const LONGEST_SPACES = 64;
const LONGEST_NEWLINES = 8;
/** Fields of a message that have no words, or are counted by themselves. */
const NO_WORDS: ReadonlySet<string> = new Set(["role", "content", "tool_calls", "tool_call_id"]);

/**
 * How many tokens a text is to the large multilingual models (GLM, Kimi, Qwen, DeepSeek), without their vocabulary: the
 * text is cut where their tokenizers cut it, and each piece has a weight by its script and length. Within 15 % of the
 * real count on prose and code in Chinese and English; `tests/contract/tokens.json` has the samples.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  let at = 0;
  while (at < text.length) {
    const kind = kindOf(text.charCodeAt(at));
    const end = endOfRun(text, at, kind);
    tokens += weigh(text, kind, at, end);
    at = end;
  }
  return Math.ceil(tokens);
}

/** Where the run of one kind ends; a capital begins a new word, unless it stands among capitals. */
function endOfRun(text: string, start: number, kind: Kind): number {
  if (kind === Kind.upper) return endOfCapitals(text, start);
  let at = start + 1;
  while (at < text.length && kindOf(text.charCodeAt(at)) === kind) at++;
  return at;
}

/** `Word` is one piece; `HTTPServer` is `HTTP` and `Server`. */
function endOfCapitals(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && kindOf(text.charCodeAt(at)) === Kind.upper) at++;
  if (at === text.length || kindOf(text.charCodeAt(at)) !== Kind.lower) return at;
  if (at - start > 1) return at - 1;
  while (at < text.length && kindOf(text.charCodeAt(at)) === Kind.lower) at++;
  return at;
}

function weigh(text: string, kind: Kind, start: number, end: number): number {
  const length = end - start;
  switch (kind) {
    case Kind.upper:
      // A capital with small letters behind it is a word; capitals alone cost more by the letter.
      return length > 1 && kindOf(text.charCodeAt(end - 1)) === Kind.upper
        ? WEIGHTS.capitals + WEIGHTS.capital * length
        : word(length);
    case Kind.lower:
      return word(length);
    case Kind.digit:
      return WEIGHTS.threeDigits * Math.ceil(length / 3) + WEIGHTS.digit * length;
    case Kind.punctuation:
      return WEIGHTS.punctuation + WEIGHTS.furtherPunctuation * (length - 1);
    // A single space belongs to the word behind it.
    case Kind.space:
      return length > 1 ? WEIGHTS.spaces * Math.ceil(length / LONGEST_SPACES) : 0;
    case Kind.newline:
      return WEIGHTS.newlines * Math.ceil(length / LONGEST_NEWLINES);
    case Kind.han:
      return WEIGHTS.hanRun + WEIGHTS.han * length;
    case Kind.cyrillic:
    case Kind.letter:
      return WEIGHTS.letterRun + WEIGHTS.letter[kind] * length;
    default:
      return WEIGHTS.single[kind] * length;
  }
}

function word(length: number): number {
  if (length <= 9) return WEIGHTS.word[length] as number;
  return WEIGHTS.longWord + WEIGHTS.furtherLetter * (length - 10);
}

/** Tokens of a prompt: text, tool calls and pictures, and what each message costs beside them. */
export function estimatePrompt(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + estimateMessage(message), 0);
}

/** Tokens of one message of a prompt. */
export function estimateMessage(message: Message): number {
  const { content, tool_calls } = message;
  let tokens = MESSAGE_OVERHEAD + estimateTokens(textOf(content)) + estimateTokens(otherText(message));
  if (typeof content === "object" && content !== null) {
    for (const part of content) if (part.text === undefined) tokens += PART_TOKENS;
  }
  if (Array.isArray(tool_calls)) tokens += estimateTokens(JSON.stringify(tool_calls));
  return tokens;
}

/** Usage by estimate; it says so. */
export function estimateUsage(messages: readonly Message[], answer: Answer): Usage {
  const asked = estimatePrompt(messages);
  const said = answer.choices.reduce((sum, choice) => sum + estimateTokens(allText(choice.message)), 0);
  return { prompt_tokens: asked, completion_tokens: said, total_tokens: asked + said, estimated: true };
}

export function textOf(content: Message["content"]): string {
  if (content === null) return "";
  return typeof content === "string" ? content : content.map((part) => part.text ?? "").join("\n");
}

/** What a message says beside content and tool calls: the reasoning of an earlier turn, or whatever a client adds. */
export function otherText(message: Message): string {
  let text = "";
  for (const name in message) {
    const value = message[name];
    if (NO_WORDS.has(name) || value === null || value === undefined) continue;
    text += typeof value === "string" ? value : JSON.stringify(value);
  }
  return text;
}

/** Content, reasoning and tool calls all cost. */
function allText(message: Record<string, unknown>): string {
  const { role: _, ...said } = message;
  return Object.values(said)
    .map((value) => (typeof value === "string" ? value : value === null ? "" : JSON.stringify(value)))
    .join("");
}
