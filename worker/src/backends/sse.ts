import { createParser } from "eventsource-parser";

/**
 * The `data` of the server-sent events, those together that came together, however the bytes are cut: characters and events may span chunks, a chunk may
 * hold many events, lines may end in LF, CRLF or CR, and the last event may lack its blank line.
 * Leaving the loop, or aborting, cancels the body.
 */
export async function* decodeEvents(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<string[], void, undefined> {
  const events: string[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event.data) });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  const cancel = () => void reader.cancel(signal.reason).catch(() => {});
  if (signal.aborted) cancel();
  signal.addEventListener("abort", cancel);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      parser.feed(done ? `${decoder.decode()}\n\n` : decoder.decode(value, { stream: true }));
      if (events.length > 0) yield events.splice(0);
      if (done) break;
    }
    signal.throwIfAborted();
  } finally {
    signal.removeEventListener("abort", cancel);
    cancel();
  }
}
