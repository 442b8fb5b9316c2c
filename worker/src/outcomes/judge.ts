import type { Answer, Choice } from "../backends/backend.ts";
import type { JsonObject } from "../chat/json-body.ts";
import { fits } from "./fits.ts";
import { refuses } from "./refuses.ts";

/** What is wrong with an answer. `json` null: neither JSON nor a tool was asked for. */
export interface Judged {
  readonly json: boolean | null;
  readonly empty: boolean;
  readonly refusal: boolean;
}

/** True where any choice of the answer is bad. `parameters` are the client's own. */
export function judge(answer: Answer, parameters: JsonObject): Judged {
  const { choices } = answer;
  const asked = askedForJson(parameters) || hasTools(parameters);
  return {
    json: asked ? choices.some((choice) => breaksJson(choice, parameters)) : null,
    empty: choices.length === 0 || choices.some((choice) => isCut(choice, parameters)),
    refusal: choices.some(isRefusal),
  };
}

function textOf({ message }: Choice): string {
  return typeof message.content === "string" ? message.content : "";
}

function callsOf({ message }: Choice): readonly unknown[] {
  return Array.isArray(message.tool_calls) ? (message.tool_calls as unknown[]) : [];
}

/** Nothing at all, or less than there was to say. Who sets a limit of its own asks for as much as fits it. */
function isCut(choice: Choice, parameters: JsonObject): boolean {
  if (textOf(choice).trim() === "" && callsOf(choice).length === 0) return !isRefusal(choice);
  const limited = parameters.max_tokens ?? parameters.max_completion_tokens;
  return choice.finish_reason === "length" && (limited === undefined || limited === null);
}

function isRefusal(choice: Choice): boolean {
  if (choice.finish_reason === "content_filter") return true;
  const { refusal } = choice.message;
  return (typeof refusal === "string" && refusal !== "") || refuses(textOf(choice));
}

function breaksJson(choice: Choice, parameters: JsonObject): boolean {
  const calls = callsOf(choice);
  if (calls.length > 0) return calls.some((call) => breaksCall(call, parameters));
  if (parameters.tool_choice === "required") return true;
  if (!askedForJson(parameters)) return false;
  const value = parsed(textOf(choice));
  if (value === undefined) return true;
  const { json_schema } = parameters.response_format as { json_schema?: { schema?: unknown } };
  return !fits(value, json_schema?.schema ?? {});
}

/** A call is of a tool that was offered, with arguments as its schema wants them. */
function breaksCall(call: unknown, parameters: JsonObject): boolean {
  // A model may send anything: what throws here would count for nobody.
  const { function: called } = (call ?? {}) as { function?: unknown };
  const { name, arguments: given } = (called ?? {}) as { name?: unknown; arguments?: unknown };
  const tools = Array.isArray(parameters.tools) ? (parameters.tools as { function?: JsonObject }[]) : [];
  const tool = tools.find((offered) => offered?.function?.name === name)?.function;
  if (tool === undefined) return tools.length > 0;
  // A tool without parameters is called with nothing, which some models write as an empty text.
  const value = given === "" ? {} : parsed(given);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return true;
  return !fits(value, tool.parameters ?? {});
}

function askedForJson({ response_format }: JsonObject): boolean {
  const { type } = (response_format ?? {}) as { type?: unknown };
  return type === "json_object" || type === "json_schema";
}

function hasTools({ tools }: JsonObject): boolean {
  return Array.isArray(tools) && tools.length > 0;
}

/** Undefined: no JSON. */
function parsed(text: unknown): unknown {
  if (typeof text !== "string") return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
