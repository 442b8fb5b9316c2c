/** What this Worker refuses or can't do. Only the gateway hears of it, and words it for its client. */
export class InferenceError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }

  response(): Response {
    return Response.json({ error: { code: this.code, message: this.message } }, { status: this.status });
  }
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
