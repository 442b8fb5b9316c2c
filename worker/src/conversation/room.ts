import type { Message } from "../backends/backend.ts";
import { effective } from "../chat/parameters.ts";
import type { ChatRequest } from "../chat/request.ts";
import type { GatewayConfig, ModelVersion } from "../config.ts";
import { parseModel } from "../routing/route.ts";
import { estimateTokens } from "../tokens/estimate.ts";
import { fitting, isSystem, tokensOf, turnsOf } from "./core.ts";

/** Estimates may be off by this share of a model's window. */
const CAUTION = 0.95;

/**
 * Tokens that the model's window leaves beside these messages, its own prompt and the answer: in the smallest window
 * among the versions that the request may go to. Infinite where none is known.
 */
export function roomBeside(config: GatewayConfig, asked: ChatRequest, messages: readonly Message[]): number {
  const taken = tokensOf(turnsOf(messages));
  const rooms = versionsOf(config, asked.model).map((spec) => {
    if (spec.context_window === null || spec.context_window === undefined) return Number.POSITIVE_INFINITY;
    const answer = Number(effective(spec.parameters, asked.parameters).max_tokens);
    return CAUTION * spec.context_window - answer - estimateTokens(spec.prompt ?? "") - taken;
  });
  return Math.min(...rooms);
}

/** The messages, less as many of the oldest turns as the model's window can't hold; `lead` goes before them. */
export function truncated(config: GatewayConfig, request: ChatRequest, lead: readonly Message[]): readonly Message[] {
  const system = request.messages.filter(isSystem);
  const turns = turnsOf(request.messages.filter((message) => !isSystem(message)));
  const [older, latest] = [turns.slice(0, -1), turns.at(-1)?.messages ?? []];
  const kept = fitting(older, roomBeside(config, request, [...lead, ...system, ...latest]));
  if (kept.length === older.length) return request.messages;
  return [...system, ...kept.flatMap(({ messages }) => messages), ...latest];
}

function versionsOf(config: GatewayConfig, wanted: string): ModelVersion[] {
  const { name, version } = parseModel(wanted);
  const versions = Object.hasOwn(config.models, name) ? (config.models[name]?.versions ?? {}) : {};
  const pinned = Object.entries(versions).filter(([number]) => version === null || number === String(version));
  return pinned.map(([, spec]) => spec);
}
