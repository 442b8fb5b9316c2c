import type { Answer, Message, Usage } from "../backends/backend.ts";

/** Characters that are about one token each, where Latin text has about four characters a token. */
const WIDE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Extended_Pictographic}]/gu;
const MESSAGE_OVERHEAD = 4;

/** Rough count of tokens, for when the backend tells none. */
export function estimateTokens(text: string): number {
  const wide = text.match(WIDE)?.length ?? 0;
  return wide + Math.ceil((text.length - wide) / 4);
}

/** Usage by estimate; it says so. */
export function estimateUsage(messages: readonly Message[], answer: Answer): Usage {
  const asked = messages.reduce((sum, message) => sum + MESSAGE_OVERHEAD + estimateTokens(textOf(message.content)), 0);
  const said = answer.choices.reduce((sum, choice) => sum + estimateTokens(allText(choice.message)), 0);
  return { prompt_tokens: asked, completion_tokens: said, total_tokens: asked + said, estimated: true };
}

export function textOf(content: Message["content"]): string {
  if (content === null) return "";
  return typeof content === "string" ? content : content.map((part) => part.text ?? "").join("\n");
}

/** Content, reasoning and tool calls all cost. */
function allText(message: Record<string, unknown>): string {
  const { role: _, ...said } = message;
  return Object.values(said)
    .map((value) => (typeof value === "string" ? value : value === null ? "" : JSON.stringify(value)))
    .join("");
}
