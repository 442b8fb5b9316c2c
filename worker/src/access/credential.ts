import { ApiError } from "../errors.ts";

const BEARER = /^bearer +(.+)$/i;
const TEXT = "Missing or wrong API key. Send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`.";

/** Why a caller was not let in: for the log alone, since the answer is the same for each. */
export type RefusalReason =
  | "no_credential"
  | "wrong_key"
  | "key_unknown"
  | "key_secret"
  | "key_revoked"
  | "key_expired"
  | `token_${string}`;

/** The 401. Nothing that the caller can see tells one reason from another. */
export class Refused extends ApiError {
  override name = "Refused";
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason) {
    super(401, "invalid_api_key", TEXT, { headers: { "www-authenticate": "Bearer" } });
    this.reason = reason;
  }
}

/** The 503 of a stage that can't tell whether the credential is good: neither let in nor called wrong. */
export function unavailable(cause?: unknown): ApiError {
  const message = "The gateway can't check credentials right now. Try again in a moment.";
  return new ApiError(503, "access_unavailable", message, { headers: { "retry-after": "2" }, cause });
}

/** The key or token that the caller sent, or "". `Authorization` goes before `X-API-Key`. */
export function presented(headers: Headers): string {
  const bearer = BEARER.exec(headers.get("authorization")?.trim() ?? "");
  return bearer?.[1]?.trim() ?? headers.get("x-api-key")?.trim() ?? "";
}
