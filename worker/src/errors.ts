/** Body of every error answer, in OpenAI's shape plus our request id. */
export interface ErrorBody {
  error: { message: string; type: string; param: string | null; code: string; request_id: string };
}

export interface ErrorOptions {
  /** The field of the request that is at fault, as a path: `messages[0].content`. */
  param?: string;
  headers?: Record<string, string>;
  cause?: unknown;
  /** Of a backend's failure: asking it again can't help, as when it doesn't know the model or our credential. */
  lasting?: boolean;
}

/** A failure that the client is told about: HTTP status, a stable code and one sentence. */
export class ApiError extends Error {
  override name = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly param: string | null;
  readonly headers: Record<string, string>;
  readonly lasting: boolean;

  constructor(status: number, code: string, message: string, options: ErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.status = status;
    this.code = code;
    this.param = options.param ?? null;
    this.headers = options.headers ?? {};
    this.lasting = options.lasting ?? false;
  }

  body(requestId: string): ErrorBody {
    const { message, param, code } = this;
    return { error: { message, type: typeOf(this.status), param, code, request_id: requestId } };
  }
}

const TYPES: Record<number, string> = {
  401: "authentication_error",
  402: "insufficient_quota",
  403: "permission_error",
  429: "rate_limit_error",
};

/** OpenAI names a family of errors by `type`; ours follows from the status. */
function typeOf(status: number): string {
  return TYPES[status] ?? (status < 500 ? "invalid_request_error" : "server_error");
}

export function badRequest(message: string, param?: string): ApiError {
  return new ApiError(400, "invalid_request", message, param === undefined ? {} : { param });
}

/** What any thrown value is to the client. An unforeseen one tells nothing about the inside. */
export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError(500, "internal_error", "The gateway failed to answer this request.", { cause: error });
}
