import type { JsonObject } from "../chat/json-body.ts";
import { type ChatRequest, readChatRequest } from "../chat/request.ts";
import { badRequest } from "../errors.ts";

/** What `POST /v1/completions` asks for: one request for each prompt. */
export interface Completions {
  readonly prompts: readonly string[];
  readonly requests: readonly ChatRequest[];
  /** Choices for each prompt. */
  readonly n: number;
  /** Whether each answer begins with its prompt. */
  readonly echo: boolean;
}

/** Prompts are answered one after the other, within one request's time. */
const MOST_PROMPTS = 20;

/** Fields that mean the same to a chat model; what a text model alone has is read here. */
const SHARED = [
  ...["model", "max_tokens", "temperature", "top_p", "top_k", "n", "seed", "stop", "user", "stream", "stream_options"],
  ...["frequency_penalty", "presence_penalty", "repetition_penalty", "logit_bias"],
];

/** Reads the body. Throws a 400 that names the first field at fault. */
export function readCompletions(body: JsonObject, maxTokens: number): Completions {
  const prompts = readPrompts(body.prompt);
  refuse(body, "suffix", (value) => value === "");
  refuse(body, "best_of", (value) => value === (body.n ?? 1));
  refuse(body, "conversation", () => false);
  const echo = body.echo ?? false;
  if (typeof echo !== "boolean") throw badRequest("`echo` must be true or false.", "echo");
  const logprobs = readLogprobs(body.logprobs);
  if (echo && logprobs !== null) throw badRequest("`logprobs` of an echoed prompt are not served.", "logprobs");
  const shared = Object.fromEntries(
    SHARED.filter((name) => Object.hasOwn(body, name)).map((name) => [name, body[name]]),
  );
  const asked = logprobs === null ? shared : { ...shared, logprobs: true, top_logprobs: logprobs };
  const requests = prompts.map((content) =>
    readChatRequest({ ...asked, messages: [{ role: "user", content }] }, maxTokens),
  );
  const stream = requests[0]?.stream === true;
  if (stream && prompts.length > 1) throw badRequest("A stream answers one prompt; send one.", "prompt");
  return { prompts, requests, n: Number(requests[0]?.parameters.n ?? 1), echo };
}

function readPrompts(value: unknown): string[] {
  if (value === undefined || value === null) throw badRequest("`prompt` is missing.", "prompt");
  const prompts: unknown[] = Array.isArray(value) ? value : [value];
  if (prompts.length === 0) throw badRequest("`prompt` must hold at least one text.", "prompt");
  if (prompts.every((prompt) => typeof prompt === "number" || Array.isArray(prompt))) {
    throw badRequest("`prompt` as tokens is not served: the models here take text.", "prompt");
  }
  if (prompts.length > MOST_PROMPTS) throw badRequest(`\`prompt\` must hold at most ${MOST_PROMPTS} texts.`, "prompt");
  return prompts.map((prompt, index) => {
    const path = Array.isArray(value) ? `prompt[${index}]` : "prompt";
    if (typeof prompt !== "string") throw badRequest(`\`${path}\` must be a string.`, path);
    if (prompt === "") throw badRequest(`\`${path}\` is empty.`, path);
    return prompt;
  });
}

/** The older API's number of alternatives for each token; null for none. */
function readLogprobs(value: unknown): number | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 5) return value;
  throw badRequest("`logprobs` must be a whole number from 0 to 5.", "logprobs");
}

function refuse(body: JsonObject, name: string, isHarmless: (value: unknown) => boolean): void {
  const value = body[name];
  if (value === undefined || value === null || isHarmless(value)) return;
  throw badRequest(`\`${name}\` is not served: chat models answer here.`, name);
}
