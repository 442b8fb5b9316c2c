/** What a server says of a request that it refused. */
export interface Fault {
  /** Its own code: a number of Cloudflare's, a word of OpenAI's. */
  readonly code: string | null;
  readonly text: string;
  /** The field that it names. */
  readonly param: string | null;
}

type Json = Record<string, unknown>;

/**
 * Reads the body of a refusal in any shape that is about: Cloudflare's `errors` and `internalCode`, AI Gateway's
 * `error` list, OpenAI's `error` object, FastAPI's `detail`, text.
 */
export function readFault(body: string): Fault {
  const fromText = /^(?:AiError: )?(\d{4}): (.*)$/s.exec(body);
  if (fromText !== null) return { code: fromText[1] as string, text: short(fromText[2] as string), param: null };
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return { code: null, text: short(body) || NO_REASON, param: null };
  }
  return faultOf(value);
}

/** The same of a body that is parsed already. */
export function faultOf(value: unknown): Fault {
  if (!isObject(value)) return { code: null, text: short(String(value)), param: null };
  const first = [value.error, value.errors].map((found) => (Array.isArray(found) ? found[0] : found)).find(Boolean);
  const told = isObject(first) ? first : {};
  const code = value.internalCode ?? told.code ?? value.code ?? null;
  const text = value.description ?? told.message ?? value.message ?? (first !== told ? first : null) ?? value.detail;
  return {
    code: code === null || code === "" ? null : String(code),
    text: short(typeof text === "string" ? text : text === undefined ? NO_REASON : JSON.stringify(text)),
    param: typeof told.param === "string" ? told.param : null,
  };
}

/** Whether an answer or an event is about a failure. Some servers send `error: null` with each that isn't. */
export function tellsFault(value: Json): boolean {
  const errors = value.errors;
  return Boolean(value.error) || (Array.isArray(errors) && errors.length > 0) || value.object === "error";
}

const NO_REASON = "no reason given";

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function short(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}...` : text;
}

/**
 * Headers of our 429 from those of the server's: seconds, or a date, as HTTP has it. None when it names no time: how
 * long to wait without a word is decided where it is waited.
 */
export function retryAfter(headers: Headers | null): Record<string, string> {
  const told = headers?.get("retry-after")?.trim() ?? "";
  const fits = /^\d{1,6}$/.test(told) || (/^[A-Z][a-z]{2}, /.test(told) && !Number.isNaN(Date.parse(told)));
  return fits ? { "retry-after": told } : {};
}
