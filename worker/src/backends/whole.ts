import { ApiError } from "../errors.ts";
import { type AnyCall, upstreamError } from "./backend.ts";

/** What `read` makes of a whole answer's JSON. A body that is none, or has not the form that `read` expects, is broken. */
export async function readWhole<T>(call: AnyCall, response: Response, read: (value: unknown) => T): Promise<T> {
  try {
    return read(await response.json());
  } catch (error) {
    call.signal.throwIfAborted();
    throw error instanceof ApiError ? error : broken(error);
  }
}

export function broken(cause: unknown): ApiError {
  return upstreamError("The model's answer broke off.", "upstream_broken", { cause });
}
