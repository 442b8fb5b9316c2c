const SPACE = 32;

/**
 * The `data` of server-sent events, however their bytes are cut: characters and events may span chunks, a chunk may hold
 * many events, lines may end in LF, CRLF or CR, and the last event may lack its blank line.
 */
export class EventDecoder {
  readonly #decoder = new TextDecoder();
  /** The line that is not complete yet. */
  #rest = "";
  /** Whether the line feed of a CRLF may still come, which ends no line. */
  #afterReturn = false;
  /** Null: the event has none so far. */
  #data: string | null = null;

  /** The events that these bytes complete. */
  push(bytes: Uint8Array): string[] {
    return this.#feed(this.#decoder.decode(bytes, { stream: true }));
  }

  /** The event that was not complete when the bytes ended. */
  end(): string[] {
    return this.#feed(`${this.#decoder.decode()}\n\n`);
  }

  #feed(text: string): string[] {
    if (text === "") return [];
    let fed = this.#afterReturn && text[0] === "\n" ? text.slice(1) : text;
    this.#afterReturn = text.endsWith("\r");
    if (fed.includes("\r")) fed = fed.replace(/\r\n?/g, "\n");
    // A long line that comes in many pieces is searched once.
    let end = fed.indexOf("\n");
    if (end === -1) {
      this.#rest += fed;
      return [];
    }
    end += this.#rest.length;
    const lines = this.#rest + fed;
    const events: string[] = [];
    let from = 0;
    for (; end !== -1; end = lines.indexOf("\n", from)) {
      if (end > from) this.#line(lines, from, end);
      else if (this.#data !== null) {
        events.push(this.#data);
        this.#data = null;
      }
      from = end + 1;
    }
    this.#rest = lines.slice(from);
    return events;
  }

  #line(lines: string, from: number, end: number): void {
    const isField = lines.startsWith("data:", from);
    if (!isField && lines.slice(from, end) !== "data") return;
    const value = isField ? lines.slice(from + (lines.charCodeAt(from + 5) === SPACE ? 6 : 5), end) : "";
    this.#data = this.#data === null ? value : `${this.#data}\n${value}`;
  }
}
