import { json } from "../endpoints/json.ts";
import { ApiError, asApiError } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";

/** The answer to a failed request, in OpenAI's shape. An unforeseen failure is logged by name and place, not by text. */
export function failure(error: unknown, c: GatewayContext): Response {
  const { record, gateway } = c.var;
  const { signal } = c.req.raw;
  const fault = signal.aborted ? clientLeft(error) : asApiError(error);
  record.errorCode = fault.code;
  if (!(error instanceof ApiError || (signal.aborted && isAbort(error, signal)))) {
    const thrown = error instanceof Error ? error : new Error("not an error");
    // The message may quote the prompt; the stack's frames can't.
    const frames = (thrown.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
    gateway.ambient.log(
      JSON.stringify({
        event: "exception",
        level: "error",
        id: record.id,
        name: thrown.name,
        frames: frames.slice(0, 8),
      }),
    );
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
