/** One JSON line per event on stderr; the supervisor puts them in a file. */

export type Level = "debug" | "info" | "warn" | "error";

export function log(level: Level, event: string, fields: Record<string, unknown> = {}): void {
  process.stderr.write(
    `${JSON.stringify({ ts: new Date().toISOString(), level, source: "host", event, ...fields })}\n`,
  );
}

export function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
