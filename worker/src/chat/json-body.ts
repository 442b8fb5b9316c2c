import { badRequest } from "../errors.ts";

export type JsonObject = Record<string, unknown>;

/** Deeper values serve only to exhaust the stack of whoever walks them. */
const MAX_DEPTH = 64;
/** More than any API has, a few times over: each is looked at, copied and sorted a few times. */
const MOST_FIELDS = 256;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/** The body as a JSON object. Throws a 400 that says what is wrong with it. */
export function parseJsonObject(bytes: Uint8Array): JsonObject {
  if (bytes.byteLength === 0) throw badRequest("The request body is empty; send a JSON object.");
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw badRequest("The request body is not valid UTF-8.");
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw badRequest(`The request body is not valid JSON: ${position(error)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw badRequest("The request body must be a JSON object.");
  }
  if (Object.keys(value).length > MOST_FIELDS) {
    throw badRequest(`The request body has more than ${MOST_FIELDS} fields.`);
  }
  if (!isWithin(value, MAX_DEPTH)) throw badRequest(`The request body is nested deeper than ${MAX_DEPTH} levels.`);
  return value as JsonObject;
}

/** Where the parser stopped, without the text around it, which is the client's. */
function position(error: unknown): string {
  const at = /at position \d+/.exec((error as Error).message);
  return at === null ? "it ends too early or is not JSON." : `unexpected text ${at[0]}.`;
}

function isWithin(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.values(value).every((item) => isWithin(item, depth - 1));
}
