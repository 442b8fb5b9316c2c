import { badRequest } from "../errors.ts";
import type { JsonObject } from "./json-body.ts";

/** Asked for when neither the client nor the model version says: Workers AI would stop at 256. */
export const DEFAULT_MAX_TOKENS = 2_048;

interface Range {
  readonly min: number;
  readonly max: number;
  readonly whole?: boolean;
}

/** Numbers that a client may set: least, most, and whether whole. */
const RANGES = new Map<string, Range>([
  ["temperature", { min: 0, max: 2 }],
  ["top_p", { min: 0, max: 1 }],
  ["top_k", { min: 1, max: 1_000, whole: true }],
  ["frequency_penalty", { min: -2, max: 2 }],
  ["presence_penalty", { min: -2, max: 2 }],
  ["repetition_penalty", { min: 0, max: 2 }],
  ["seed", { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER, whole: true }],
  ["n", { min: 1, max: 8, whole: true }],
  ["top_logprobs", { min: 0, max: 20, whole: true }],
]);

interface Shape {
  readonly fits: (value: unknown) => boolean;
  readonly wanted: string;
}

const isText = (value: unknown) => typeof value === "string";
const isFlag = (value: unknown) => typeof value === "boolean";
const isObject = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
const isTool = (value: unknown) => isObject(value) && isText((value as JsonObject).type);
const FORMATS = new Set<unknown>(["text", "json_object", "json_schema"]);

const STOP: Shape = {
  fits: (value) => isText(value) || (Array.isArray(value) && value.length <= 16 && value.every(isText)),
  wanted: "a string or an array of at most 16 strings",
};
/** As many as OpenAI takes: each is walked, counted and written a few times. */
const MOST_TOOLS = 128;
const TOOLS: Shape = {
  fits: (value) => Array.isArray(value) && value.length <= MOST_TOOLS && value.every(isTool),
  wanted: `an array of at most ${MOST_TOOLS} tools, each an object with a \`type\``,
};
const FORMAT: Shape = {
  fits: (value) => isObject(value) && FORMATS.has((value as JsonObject).type),
  wanted: "an object whose `type` is text, json_object or json_schema",
};
/** A template of the client's own would take the place of the model's, and run on its server: loops and all. */
const NO_OPTIONS = ["chat_template", "tokenize"];
const TEMPLATE: Shape = {
  fits: (value) => isObject(value) && !NO_OPTIONS.some((name) => Object.hasOwn(value as JsonObject, name)),
  wanted: `an object without ${NO_OPTIONS.join(" or ")}`,
};
const FLAG: Shape = { fits: isFlag, wanted: "true or false" };
const CHOICE: Shape = { fits: (value) => isText(value) || isObject(value), wanted: "a string or an object" };

/** What a client may set that is no number. */
const SHAPES = new Map<string, Shape>([
  ["stop", STOP],
  ["tools", TOOLS],
  ["tool_choice", CHOICE],
  ["parallel_tool_calls", FLAG],
  ["response_format", FORMAT],
  ["logprobs", FLAG],
  ["logit_bias", { fits: isObject, wanted: "an object" }],
  ["reasoning_effort", { fits: isText, wanted: "a string" }],
  ["chat_template_kwargs", TEMPLATE],
]);

/** Fields of an API before this one, and what took their place: dropped, the model would call nothing and say so nowhere. */
const REPLACED = new Map([
  ["functions", "tools"],
  ["function_call", "tool_choice` with `tools"],
]);

/** Fields of the body that are about the request and not about the answer. */
const NOT_PARAMETERS = new Set([
  ...["model", "messages", "user", "stream", "stream_options", "max_completion_tokens", "conversation", "truncation"],
]);

/**
 * What the client asks of the answer, checked: numbers in range, the rest by its shape, null as absent, `max_completion_tokens` as
 * `max_tokens`. Unknown fields stay; a backend takes those that it knows. Throws a 400 that names the field.
 */
export function readParameters(body: JsonObject, maxTokens: number): JsonObject {
  const kept: [string, unknown][] = [];
  for (const [name, value] of Object.entries(body)) {
    if (value === null || value === undefined || NOT_PARAMETERS.has(name)) continue;
    const instead = REPLACED.get(name);
    if (instead !== undefined) throw badRequest(`\`${name}\` is not served: send \`${instead}\`.`, name);
    const range = RANGES.get(name);
    if (range !== undefined) checkNumber(name, value, range);
    const shape = range === undefined ? SHAPES.get(name) : undefined;
    if (shape?.fits(value) === false) throw badRequest(`\`${name}\` must be ${shape.wanted}.`, name);
    kept.push([name, value]);
  }
  // Not by assignment: a field called `__proto__` would put unchecked values behind the checked ones.
  const parameters: JsonObject = Object.fromEntries(kept);
  const capRange = { min: 1, max: maxTokens, whole: true };
  for (const name of ["max_tokens", "max_completion_tokens"]) {
    const cap = body[name] ?? undefined;
    if (cap === undefined) continue;
    checkNumber(name, cap, capRange);
    parameters.max_tokens = cap;
  }
  return parameters;
}

function checkNumber(name: string, value: unknown, range: Range): void {
  const whole = range.whole === true;
  const fits = typeof value === "number" && value >= range.min && value <= range.max;
  if (fits && (!whole || Number.isInteger(value))) return;
  const kind = whole ? "a whole number" : "a number";
  throw badRequest(`\`${name}\` must be ${kind} from ${range.min} to ${range.max}.`, name);
}

/** The version's defaults overlaid by the client's parameters, with an output cap in any case. */
export function effective(defaults: JsonObject | null | undefined, asked: JsonObject): JsonObject {
  return { max_tokens: DEFAULT_MAX_TOKENS, ...defaults, ...asked };
}
