import { json } from "../endpoints/json.ts";
import { ApiError, asApiError } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";
import { reportException } from "../telemetry/exceptions.ts";

/** The answer to a failed request, in OpenAI's shape. An unforeseen failure is reported. */
export function failure(thrown: unknown, c: GatewayContext): Response {
  const error = thrown instanceof Error ? thrown : new NotAnError(thrown);
  const record = c.get("record");
  const { signal } = c.req.raw;
  const fault = signal.aborted ? clientLeft(error) : asApiError(error);
  record.errorCode = fault.code;
  if (!(error instanceof ApiError || (signal.aborted && isAbort(thrown, signal)))) {
    reportException(c, error);
  }
  return json(c, fault.body(record.id), fault.status, fault.headers);
}

/** What was thrown though it is no error: answered and logged like one. */
class NotAnError extends Error {
  override name = "NotAnError";
  constructor(thrown: unknown) {
    super(`${typeof thrown} thrown`, { cause: thrown });
  }
}

/** For the log alone: nobody is there to read it. No failure of ours, nor of the model. */
function clientLeft(cause: unknown): ApiError {
  return new ApiError(499, "client_disconnected", "The client left before it was answered.", { cause });
}

function isAbort(thrown: unknown, signal: AbortSignal): boolean {
  return thrown === signal.reason || (thrown instanceof Error && thrown.name === "AbortError");
}

/** Clients add their path to a base URL, which is easily set without its `/v1`, or to more than that. */
function hintAt(path: string): string {
  const tail = /(?:^|\/)(chat\/completions|completions|embeddings|responses|models)\/?$/.exec(path)?.[1];
  if (tail === undefined || path === `/v1/${tail}`) return "";
  return ` The client's base URL should end in /v1, which makes it /v1/${tail}.`;
}

export function notFound(c: GatewayContext): Response {
  const path = c.req.path.slice(0, 200);
  return failure(new ApiError(404, "not_found", `There is nothing at ${path}.${hintAt(path)}`), c);
}
