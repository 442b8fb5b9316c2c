import type { Piece, Usage } from "../backends/backend.ts";
import type { ErrorBody } from "../errors.ts";

/** How one endpoint writes a streamed answer: each method gives the text of whole events, `""` for none. */
export interface StreamFormat {
  piece(piece: Piece): string;
  /** After the last piece of a whole answer. */
  end(usage: Usage): string;
  /** In place of the end. */
  failure(fault: ErrorBody): string;
}

export const DONE = "data: [DONE]\n\n";

/** A server-sent event; the name is for the APIs that have one. */
export function sseEvent(value: unknown, name?: string): string {
  const data = `data: ${JSON.stringify(value)}\n\n`;
  return name === undefined ? data : `event: ${name}\n${data}`;
}
