import { createParser } from "eventsource-parser";

/**
 * The `data` of server-sent events, however their bytes are cut: characters and events may span chunks, a chunk may hold
 * many events, lines may end in LF, CRLF or CR, and the last event may lack its blank line.
 */
export class EventDecoder {
  readonly #events: string[] = [];
  readonly #parser = createParser({ onEvent: (event) => this.#events.push(event.data) });
  readonly #decoder = new TextDecoder();

  /** The events that these bytes complete. */
  push(bytes: Uint8Array): string[] {
    return this.#feed(this.#decoder.decode(bytes, { stream: true }));
  }

  /** The event that was not complete when the bytes ended. */
  end(): string[] {
    return this.#feed(`${this.#decoder.decode()}\n\n`);
  }

  #feed(text: string): string[] {
    this.#parser.feed(text);
    return this.#events.splice(0);
  }
}
