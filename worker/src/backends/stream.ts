import { ApiError } from "../errors.ts";
import { onAbort } from "../switch.ts";
import type { Call, Piece, PieceChoice } from "./backend.ts";
import { type Batch, Pieces } from "./pieces.ts";
import { EventDecoder } from "./sse.ts";
import { broken } from "./whole.ts";

/** Pieces that follow others within so many milliseconds may wait until nothing more is here: no model says words as fast. */
const BURST_MS = 10;

interface Waiting {
  readonly soon: boolean;
  give(batch: Batch): void;
  fail(reason: unknown): void;
}

/**
 * The pieces of a stream of events, each read by `read`; a stream that ends before its answer does is broken. Aborting
 * the call, or `stop`, cancels the body.
 */
export class PieceStream extends Pieces {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #call: Call;
  readonly #read: (data: string) => Piece;
  readonly #decoder = new EventDecoder();
  readonly #progress: Progress;
  readonly #off: () => void;
  /** What has come and was not given yet. Words that follow each other are one piece: the client gets them at once. */
  #come: Piece[] = [];
  #waiting: Waiting | null = null;
  /** Whether the body was asked for more. */
  #asked = false;
  /** How it ended: `fault` null for a whole answer. */
  #end: { readonly fault: unknown } | null = null;
  /** The last of them, where it only says some text. */
  #said: Said | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #givenAt = 0;

  constructor(body: ReadableStream<Uint8Array>, call: Call, read: (data: string) => Piece) {
    super();
    this.#reader = body.getReader();
    this.#call = call;
    this.#read = read;
    this.#progress = new Progress(Number(call.parameters.max_tokens));
    this.#off = onAbort(call.signal, () => this.#breakOff(call.signal.reason));
  }

  next(soon: boolean): Promise<Batch> {
    return new Promise((give, fail) => {
      this.#waiting = { soon, give, fail };
      if (this.#call.signal.aborted) this.#breakOff(this.#call.signal.reason);
      else this.#goOn();
    });
  }

  stop(): void {
    if (this.#end === null) this.#breakOff(new Error("The stream was stopped."));
    this.#close();
  }

  /** Gives what there is, or asks for more. */
  #goOn(): void {
    const waiting = this.#waiting;
    if (waiting === null) return;
    const some = this.#come.length > 0;
    if (this.#end !== null) this.#finish(waiting, this.#end.fault);
    else if (some && (waiting.soon || performance.now() - this.#givenAt > BURST_MS)) this.#give(waiting, false);
    else {
      // It fires when all that is here already was read.
      if (some) this.#timer ??= setTimeout(() => this.#ring(), 0);
      if (!this.#asked) this.#ask();
    }
  }

  #ring(): void {
    this.#timer = null;
    if (this.#waiting !== null && this.#come.length > 0) this.#give(this.#waiting, false);
  }

  #finish(waiting: Waiting, fault: unknown): void {
    // What came before a fault counts; the fault is told when more is asked for.
    if (fault === null || this.#come.length > 0) {
      this.#give(waiting, fault === null);
      return;
    }
    this.#waiting = null;
    this.#close();
    waiting.fail(fault);
  }

  /** Ends it before its end. */
  #breakOff(fault: unknown): void {
    this.#come = [];
    this.#end = { fault };
    void this.#reader.cancel(fault).catch(() => {});
    this.#goOn();
  }

  #give(waiting: Waiting, last: boolean): void {
    const pieces = this.#come;
    this.#come = [];
    this.#said = null;
    this.#waiting = null;
    this.#givenAt = performance.now();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (last) this.#close();
    waiting.give({ pieces, last });
  }

  #close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#off();
  }

  #ask(): void {
    this.#asked = true;
    this.#reader.read().then(
      ({ done, value }) => this.#heard(done ? null : value),
      (error) => this.#lost(error),
    );
  }

  #heard(bytes: Uint8Array | null): void {
    this.#asked = false;
    if (this.#end !== null) {
      // More behind the end is nobody's.
      if (bytes !== null) void this.#reader.cancel().catch(() => {});
      return;
    }
    try {
      if (bytes === null) {
        const done = this.#takes(this.#decoder.end());
        this.#end = { fault: done || this.#progress.finished ? null : broken(undefined) };
      } else if (this.#takes(this.#decoder.push(bytes))) {
        this.#end = { fault: null };
        // Read to the end of its body, which is there already, the connection can be used again.
        this.#ask();
      }
      this.#goOn();
    } catch (error) {
      this.#lost(error);
      void this.#reader.cancel().catch(() => {});
    }
  }

  #lost(error: unknown): void {
    if (this.#end !== null) return;
    const known = error instanceof ApiError;
    // All was said: what the connection lost is the usage at most, and nobody may be told both an end and an error.
    const whole = !known && this.#progress.hasEnded(Number(this.#call.parameters.n ?? 1));
    this.#end = { fault: whole ? null : known ? error : broken(error) };
    this.#goOn();
  }

  /** Reads the events that came together; whether the last of the answer was among them. */
  #takes(events: readonly string[]): boolean {
    const come = this.#come;
    for (const data of events) {
      if (data === "[DONE]") {
        const last = this.#progress.closing();
        if (last !== null) come.push(last);
        return true;
      }
      const piece = this.#read(data);
      this.#progress.note(piece);
      const text = onlyText(piece);
      if (text === null || !this.#extends(text)) come.push(piece);
      else continue;
      this.#said = text;
    }
    return false;
  }

  /** Adds a text to that of the piece before, when both are of one field of one choice; else false. */
  #extends({ field, choice }: Said): boolean {
    const before = this.#said;
    if (before === null || before.field !== field || before.choice.index !== choice.index) return false;
    (before.choice.delta[field] as string) += choice.delta[field] as string;
    return true;
  }
}

/** A piece that says some text, and nothing else. */
interface Said {
  readonly field: string;
  readonly choice: PieceChoice;
}

/** The one field of text that a piece says, or null for a piece that says anything else. */
function onlyText({ choices, usage }: Piece): Said | null {
  const [choice] = choices;
  if (usage !== null || choice === undefined || choices.length > 1 || choice.finish_reason !== null) return null;
  let field: string | null = null;
  for (const name in choice.delta) {
    const text = choice.delta[name];
    if (name === "role" || text === null) continue;
    if (field !== null || typeof text !== "string") return null;
    field = name;
  }
  for (const name in choice) {
    if (name !== "index" && name !== "delta" && choice[name] !== null) return null;
  }
  return field === null ? null : { field, choice };
}

/** How far a stream has come, to tell an answer that ended from one that broke off. */
class Progress {
  readonly #open = new Set<number>();
  readonly #ended = new Set<number>();
  readonly #maxTokens: number;
  #anyFinished = false;
  #said = false;
  #calledTools = false;
  #completionTokens = 0;

  constructor(maxTokens: number) {
    this.#maxTokens = maxTokens;
  }

  get finished(): boolean {
    return this.#anyFinished && this.#open.size === 0;
  }

  /** Whether each of so many choices has come to its end. */
  hasEnded(choices: number): boolean {
    return this.#open.size === 0 && this.#ended.size >= choices;
  }

  note(piece: Piece): void {
    for (const choice of piece.choices) {
      this.#said = true;
      if (choice.delta.tool_calls !== undefined) this.#calledTools = true;
      if (choice.finish_reason === null) this.#open.add(choice.index);
      else {
        this.#open.delete(choice.index);
        this.#ended.add(choice.index);
      }
      this.#anyFinished ||= choice.finish_reason !== null;
    }
    this.#completionTokens = piece.usage?.completion_tokens ?? this.#completionTokens;
  }

  /** The older shape tells the end by `[DONE]` alone: the piece that says why it ended, or null when one was sent. */
  closing(): Piece | null {
    if (this.finished) return null;
    if (this.#anyFinished || !this.#said) throw broken(undefined);
    const cut = this.#completionTokens >= this.#maxTokens;
    const reason = this.#calledTools ? "tool_calls" : cut ? "length" : "stop";
    return { choices: [{ index: 0, delta: {}, finish_reason: reason }], usage: null };
  }
}
