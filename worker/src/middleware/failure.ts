import { json } from "../endpoints/json.ts";
import { ApiError, asApiError } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";

/** The answer to a failed request, in OpenAI's shape. An unforeseen failure is logged by name and place, not by text. */
export function failure(error: unknown, c: GatewayContext): Response {
  const { record, gateway } = c.var;
  const fault = asApiError(error);
  record.errorCode = c.req.raw.signal.aborted ? "client_disconnected" : fault.code;
  if (!(error instanceof ApiError)) {
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

export function notFound(c: GatewayContext): Response {
  return failure(new ApiError(404, "not_found", `There is nothing at ${c.req.path.slice(0, 200)}.`), c);
}
