import type { Piece, PieceChoice } from "../backends/backend.ts";
import { BlockStream } from "./blocklist.ts";
import { MaskStream } from "./mask-stream.ts";
import type { AnswerRules, Note } from "./rules.ts";
import { guardValue } from "./values.ts";

type Json = Record<string, unknown>;

/** The choices of a streamed answer, each looked over by itself. */
export class GuardedStream {
  readonly #rules: AnswerRules;
  readonly #note: Note;
  readonly #choices = new Map<number, GuardedChoice>();

  constructor(rules: AnswerRules, note: Note) {
    this.#rules = rules;
    this.#note = note;
  }

  /** What may be seen now that this piece has come; its usage always. */
  pass(piece: Piece): Piece {
    const choices = piece.choices.flatMap((choice) => this.#of(choice.index).pass(choice));
    return { ...piece, choices };
  }

  /** What was held back of choices that never said that they ended. */
  rest(): Piece | null {
    const choices = [...this.#choices.values()].flatMap((choice) => choice.rest());
    return choices.length === 0 ? null : { choices, usage: null };
  }

  #of(index: number): GuardedChoice {
    let choice = this.#choices.get(index);
    if (choice === undefined) {
      choice = new GuardedChoice(index, this.#rules, this.#note);
      this.#choices.set(index, choice);
    }
    return choice;
  }
}

/** One text of a choice, such as its content or the arguments of its second call. */
interface Channel {
  readonly name: string;
  /** Of a tool call: which one. */
  readonly call: number | null;
  readonly filters: readonly [MaskStream | null, BlockStream | null];
}

class GuardedChoice {
  readonly #index: number;
  readonly #rules: AnswerRules;
  readonly #note: Note;
  /** The text that is being said; when another begins, this one is over. */
  #channel: Channel | null = null;
  /** Whether the client was told that it ends. */
  #ended = false;

  constructor(index: number, rules: AnswerRules, note: Note) {
    this.#index = index;
    this.#rules = rules;
    this.#note = note;
  }

  pass(choice: PieceChoice): PieceChoice[] {
    if (this.#ended) return [];
    const { delta, finish_reason, logprobs: _, ...rest } = choice;
    const seen: Json = {};
    for (const [name, value] of Object.entries(delta)) this.#say(seen, name, value);
    if (finish_reason !== null) this.#close(seen);
    if (this.#ended) return [this.#cut(seen)];
    this.#ended = finish_reason !== null;
    // Nothing is said of log probabilities: they would spell what is held back.
    const out = { ...rest, delta: seen, finish_reason };
    return finish_reason === null && Object.keys(seen).length === 0 ? [] : [out];
  }

  rest(): PieceChoice[] {
    if (this.#ended) return [];
    const seen: Json = {};
    this.#close(seen);
    if (this.#ended) return [this.#cut(seen)];
    return Object.keys(seen).length === 0 ? [] : [{ index: this.#index, delta: seen, finish_reason: null }];
  }

  /** The end of a choice that came to a blocked phrase. */
  #cut(seen: Json): PieceChoice {
    return { index: this.#index, delta: seen, finish_reason: "content_filter" };
  }

  #say(seen: Json, name: string, value: unknown): void {
    if (this.#ended) return;
    if (name === "tool_calls" && Array.isArray(value)) {
      for (const call of value) this.#sayCall(seen, call as Json);
    } else if (typeof value === "string" && name !== "role") {
      this.#text(seen, name, null, value);
    } else {
      // Whole at once, such as details of the reasoning: nothing of it is still to come.
      const whole = name === "role" ? { value, blocked: false } : guardValue(value, this.#rules, this.#note);
      if (!whole.blocked) seen[name] = whole.value;
      else this.#ended = true;
    }
  }

  #sayCall(seen: Json, call: Json): void {
    const wanted = call.function as Json | null | undefined;
    const at = typeof call.index === "number" ? call.index : 0;
    const said = wanted?.arguments;
    if (typeof said !== "string") return void callsOf(seen).push(call);
    const { arguments: _, ...named } = wanted as Json;
    const { function: __, ...head } = call;
    // The first part of a call names it, and is to be seen also when nothing of its arguments is yet.
    if (Object.keys(named).length > 0 || Object.keys(head).some((key) => key !== "index")) {
      this.#switch(seen, "arguments", at);
      if (!this.#ended) callsOf(seen).push({ ...head, function: { ...named, arguments: "" } });
    }
    this.#text(seen, "arguments", at, said);
  }

  #text(seen: Json, name: string, call: number | null, text: string): void {
    const channel = this.#switch(seen, name, call);
    if (channel === null) return;
    const [masks, blocks] = channel.filters;
    const masked = masks === null ? text : masks.push(text);
    this.#put(seen, channel, blocks === null ? masked : blocks.push(masked));
  }

  /** The channel of this text, after what was held back of the one before. Null once the choice is cut. */
  #switch(seen: Json, name: string, call: number | null): Channel | null {
    const known = this.#channel;
    if (known !== null && known.name === name && known.call === call) return known;
    this.#close(seen);
    if (this.#ended) return null;
    const { masks, blocklist } = this.#rules;
    const told = (kind: string) => this.#note(`answer:${kind}`);
    const filters = [
      masks ? new MaskStream(call !== null, told) : null,
      blocklist === null ? null : new BlockStream(blocklist),
    ] as const;
    this.#channel = { name, call, filters };
    return this.#channel;
  }

  #close(seen: Json): void {
    const channel = this.#channel;
    if (channel === null) return;
    this.#channel = null;
    const [masks, blocks] = channel.filters;
    const masked = masks?.end() ?? "";
    this.#put(seen, channel, blocks === null ? masked : blocks.push(masked) + blocks.end());
  }

  #put(seen: Json, { name, call, filters }: Channel, text: string): void {
    if (text !== "") {
      if (call === null) seen[name] = ((seen[name] as string | undefined) ?? "") + text;
      else addArguments(callsOf(seen), call, text);
    }
    if (filters[1]?.blocked !== true) return;
    this.#note("answer:blocklist");
    this.#ended = true;
  }
}

function callsOf(seen: Json): Json[] {
  seen.tool_calls ??= [];
  return seen.tool_calls as Json[];
}

/** Adds to the part of this call that the piece has already, so that one piece holds one part of each call. */
function addArguments(calls: Json[], index: number, text: string): void {
  const last = calls.findLast((call) => (call.index ?? 0) === index);
  if (last === undefined) return void calls.push({ index, function: { arguments: text } });
  const wanted = (last.function ?? {}) as Json;
  last.function = { ...wanted, arguments: `${String(wanted.arguments ?? "")}${text}` };
}
