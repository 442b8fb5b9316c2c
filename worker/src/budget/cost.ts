import type { Usage } from "../backends/backend.ts";
import type { Price } from "../config.ts";

/** Tokens as they are paid for. Reasoning is part of `completion`, what the prefix cache held is part of `prompt`. */
export interface Tokens {
  readonly prompt: number;
  readonly cached: number;
  readonly completion: number;
}

/** Nanodollars for a token, by a price in dollars for a million of them. */
const NANOS = 1_000;

/** Whole nanodollars; never below 0. `tests/contract/cost.json` holds this and `sluiceway/cost/arithmetic.py` to the same. */
export function costOf(price: Price | null | undefined, tokens: Tokens): number {
  if (price === null || price === undefined) return 0;
  // A backend that tells more cached tokens than the prompt has must not make the rest of it negative.
  const cached = Math.min(tokens.cached, tokens.prompt);
  const dear = (tokens.prompt - cached) * price.input;
  const cheap = cached * (price.cached ?? price.input);
  return Math.floor((dear + cheap + tokens.completion * price.output) * NANOS + 0.5);
}

/** The most that a request may come to: nothing of the prompt is in the prefix cache. */
export function worstOf(price: Price | null | undefined, promptTokens: number, maxTokens: number): number {
  if (price === null || price === undefined) return 0;
  const input = Math.max(price.input, price.cached ?? price.input);
  return costOf({ input, cached: null, output: price.output }, tokensOf(promptTokens, maxTokens));
}

function tokensOf(prompt: number, completion: number): Tokens {
  return { prompt, cached: 0, completion };
}

/** What a backend told, as far as it is a count; what is none costs as the worst case does, never nothing. */
export function tokensIn(usage: Usage, worst: { readonly promptTokens: number; readonly mostTokens: number }): Tokens {
  const prompt = count(usage.prompt_tokens) ?? worst.promptTokens;
  // An embedding has no completion, and says so by leaving it out.
  const completion = usage.completion_tokens === undefined ? 0 : (count(usage.completion_tokens) ?? worst.mostTokens);
  const details = usage.prompt_tokens_details as { cached_tokens?: unknown } | null | undefined;
  return { prompt, completion, cached: count(details?.cached_tokens) ?? 0 };
}

/** Whether the backend told more cached tokens than the prompt has. */
export function overstatesCache(tokens: Tokens): boolean {
  return tokens.cached > tokens.prompt;
}

function count(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.ceil(value) : null;
}
