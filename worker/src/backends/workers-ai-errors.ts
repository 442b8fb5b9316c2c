import { ApiError, type ErrorOptions } from "../errors.ts";
import { upstreamError } from "./backend.ts";
import { faultOf, readFault, retryAfter, tellsFault } from "./faults.ts";

interface Meaning {
  readonly status: number;
  readonly code: string;
  readonly lasting?: boolean;
}

/** Faults of the catalogue or the account, not of what the client sent: the same call would fail again. */
const SET_UP: Meaning = { status: 502, code: "upstream_refused", lasting: true };

/** Internal codes whose meaning for the client differs from a plain upstream failure. */
const KNOWN: Record<string, Meaning> = {
  3006: { status: 400, code: "context_length_exceeded" },
  3007: { status: 504, code: "upstream_timeout" },
  3036: { status: 429, code: "upstream_quota_exceeded", lasting: true },
  3040: { status: 429, code: "upstream_out_of_capacity" },
  3041: SET_UP,
  3042: SET_UP,
  5004: { status: 400, code: "invalid_request" },
  5005: SET_UP,
  5006: { status: 400, code: "invalid_request" },
  5007: SET_UP,
  5016: SET_UP,
  5018: SET_UP,
  5021: { status: 400, code: "context_length_exceeded" },
  5028: SET_UP,
  5035: SET_UP,
};

/** Statuses that are about this request rather than about our set-up, and so are the client's to see. */
const CLIENT_STATUS: Record<number, string> = {
  400: "invalid_request",
  422: "invalid_request",
  429: "upstream_rate_limited",
};

/** Our error for a refusal by Workers AI: HTTP status, body text and headers as it sent them. */
export function refusal(status: number, body: string, headers: Headers | null): ApiError {
  const fault = readFault(body);
  const code = fault.code !== null && /^\d+$/.test(fault.code) ? fault.code : null;
  const meaning = (code === null ? undefined : KNOWN[code]) ?? byStatus(status, code);
  const options: ErrorOptions = {
    lasting: meaning.lasting ?? false,
    ...(meaning.status === 429 && { headers: retryAfter(headers) }),
  };
  const coded = code === null ? "" : ` (${code})`;
  return new ApiError(meaning.status, meaning.code, `Workers AI refused the request${coded}: ${fault.text}`, options);
}

function byStatus(status: number, code: string | null): Meaning {
  // A body that passed our own cap is too large for a model by its prompt.
  if (status === 413) return { status: 400, code: "context_length_exceeded" };
  const seen = CLIENT_STATUS[status];
  // A 400 with a code that we don't know may be about the catalogue, such as "no such model" is.
  if (seen !== undefined && !(status === 400 && code !== null)) return { status, code: seen };
  if (status === 408 || status === 504) return { status: 504, code: "upstream_timeout" };
  if (status < 500) return SET_UP;
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
  if (!tellsFault(event)) return null;
  return upstreamError(`Workers AI broke off the answer: ${faultOf(event).text}`, "upstream_broken");
}
