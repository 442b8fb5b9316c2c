import { ApiError, type ErrorOptions } from "../errors.ts";
import { upstreamError } from "./backend.ts";

/** What Workers AI says of a failed run, in either of its two error bodies. */
interface Fault {
  code: number | null;
  text: string;
}

/** Internal codes whose meaning for the client differs from a plain upstream failure. */
const KNOWN: Record<number, { status: number; code: string }> = {
  3006: { status: 413, code: "request_too_large" },
  3007: { status: 504, code: "upstream_timeout" },
  3036: { status: 429, code: "upstream_quota_exceeded" },
  3040: { status: 429, code: "upstream_out_of_capacity" },
  5004: { status: 400, code: "invalid_request" },
  5006: { status: 400, code: "invalid_request" },
  5021: { status: 400, code: "context_length_exceeded" },
};

/** Statuses that are about this request rather than about our set-up, and so are the client's to see. */
const CLIENT_STATUS: Record<number, string> = {
  400: "invalid_request",
  413: "request_too_large",
  422: "invalid_request",
  429: "upstream_rate_limited",
};

/** Our error for a refusal by Workers AI: HTTP status, body text and `retry-after` as it sent them. */
export function refusal(status: number, body: string, retryAfter: string | null): ApiError {
  const fault = readFault(body);
  const meaning = (fault.code === null ? undefined : KNOWN[fault.code]) ?? byStatus(status, fault.code);
  const options: ErrorOptions = {
    lasting: lasts(status, fault.code),
    // Only as it was told: how long to wait without a word is decided where it is waited.
    ...(retryAfter !== null && meaning.status === 429 && { headers: { "retry-after": retryAfter } }),
  };
  const coded = fault.code === null ? "" : ` (${fault.code})`;
  return new ApiError(meaning.status, meaning.code, `Workers AI refused the request${coded}: ${fault.text}`, options);
}

/** Whether the same request would fail the same way again: no such model, no right to it, a model that was retired. */
function lasts(status: number, code: number | null): boolean {
  if (code !== null) return code >= 5_000 || code === 3041 || code === 3042;
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

function byStatus(status: number, code: number | null): { status: number; code: string } {
  const seen = CLIENT_STATUS[status];
  // A coded 400 such as 5007 "no such model" is a fault of the catalogue, not of what the client sent.
  if (seen !== undefined && !(status === 400 && code !== null)) return { status, code: seen };
  if (status === 408 || status === 504) return { status: 504, code: "upstream_timeout" };
  return { status: status === 503 ? 503 : 502, code: "upstream_error" };
}

/** Our error for an exception out of the binding, whose text may begin with the internal code. */
export function thrown(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (/^(AiError: )?\d{4}: /.test(message)) return refusal(500, message, null);
  return upstreamError("Workers AI could not be reached.", "upstream_unreachable", { cause: error });
}

/** Our error for a failure that arrives as an event in the middle of a stream, or null when the event is none. */
export function faultInEvent(event: Record<string, unknown>): ApiError | null {
  if (event.error === undefined && event.errors === undefined) return null;
  return upstreamError(`Workers AI broke off the answer: ${readFault(JSON.stringify(event)).text}`, "upstream_broken");
}

function readFault(body: string): Fault {
  const fromText = /^(?:AiError: )?(\d{4}): (.*)$/s.exec(body);
  if (fromText !== null) return { code: Number(fromText[1]), text: short(fromText[2] as string) };
  try {
    const value = JSON.parse(body) as Record<string, unknown>;
    const first = (Array.isArray(value.errors) ? value.errors[0] : value.error) as Record<string, unknown> | undefined;
    const code = value.internalCode ?? first?.code;
    const text = value.description ?? first?.message ?? value.message ?? value.error ?? "no reason given";
    return { code: typeof code === "number" ? code : Number(code) || null, text: short(String(text)) };
  } catch {
    return { code: null, text: short(body) || "no reason given" };
  }
}

function short(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}...` : text;
}
