import { json } from "../endpoints/json.ts";
import { ApiError, asApiError } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";
import { reportException } from "../telemetry/exceptions.ts";

/** The answer to a failed request, in OpenAI's shape. An unforeseen failure is reported. */
export function failure(error: unknown, c: GatewayContext): Response {
  const { record } = c.var;
  const { signal } = c.req.raw;
  const fault = signal.aborted ? clientLeft(error) : asApiError(error);
  record.errorCode = fault.code;
  if (!(error instanceof ApiError || (signal.aborted && isAbort(error, signal)))) {
    reportException(c, error);
  }
  return json(c, fault.body(record.id), fault.status, fault.headers);
}

/** For the log alone: nobody is there to read it. No failure of ours, nor of the model. */
function clientLeft(cause: unknown): ApiError {
  return new ApiError(499, "client_disconnected", "The client left before it was answered.", { cause });
}

function isAbort(error: unknown, signal: AbortSignal): boolean {
  return error === signal.reason || (error instanceof Error && error.name === "AbortError");
}

export function notFound(c: GatewayContext): Response {
  return failure(new ApiError(404, "not_found", `There is nothing at ${c.req.path.slice(0, 200)}.`), c);
}
