import type { PieceChoice } from "../../backends/backend.ts";
import type { JsonObject } from "../../chat/json-body.ts";

export interface ResponseEvent extends JsonObject {
  type: string;
}

/** A part of a message, or of what the model thought, that is being said. */
interface Part {
  readonly type: "output_text" | "refusal" | "reasoning_text";
  readonly index: number;
  text: string;
  logprobs: unknown[];
}

interface Item extends JsonObject {
  readonly id: string;
  readonly type: string;
}

/** An item of the output that is not done. */
interface Open {
  readonly item: Item;
  readonly at: number;
  part: Part | null;
}

type Status = "completed" | "incomplete";

const DELTAS = {
  output_text: "response.output_text",
  refusal: "response.refusal",
  reasoning_text: "response.reasoning_text",
};

/**
 * Turns a chat's deltas into a response's output items, and tells of each step by its event, in the order that OpenAI's
 * clients rely on: item added, part added, deltas, part done, item done.
 */
export class ResponseOutput {
  /** Items that are done, and of those that are not what is known so far. */
  readonly items: Item[] = [];
  readonly #stem: string;
  #talking: Open | null = null;
  /** By the chat's number of the call. */
  readonly #calls = new Map<number, Open>();
  #events: ResponseEvent[] = [];

  /** `stem` makes the items' ids. */
  constructor(stem: string) {
    this.#stem = stem;
  }

  add({ delta, logprobs }: PieceChoice): ResponseEvent[] {
    this.#say("reasoning_text", delta.reasoning ?? delta.reasoning_content, null);
    this.#say("output_text", delta.content, logprobs);
    this.#say("refusal", delta.refusal, null);
    if (Array.isArray(delta.tool_calls)) for (const call of delta.tool_calls as JsonObject[]) this.#call(call);
    return this.#told();
  }

  /** Closes what is open. `status`: of what was being said when the answer ended. */
  end(status: Status): ResponseEvent[] {
    // An answer that said nothing is still a message.
    if (this.items.length === 0) this.#open("message", "msg", { role: "assistant", content: [] });
    if (this.#talking?.item.type === "message" && this.#talking.part === null)
      this.#begin(this.#talking, "output_text");
    this.#stopTalking(status);
    for (const open of this.#calls.values()) {
      open.item.status = status;
      const { arguments: text } = open.item;
      this.#tell("response.function_call_arguments.done", open, { arguments: text, name: open.item.name });
      this.#tell("response.output_item.done", open, { item: { ...open.item } });
    }
    this.#calls.clear();
    return this.#told();
  }

  #say(type: Part["type"], text: unknown, logprobs: unknown): void {
    if (typeof text !== "string" || text === "") return;
    const kind = type === "reasoning_text" ? "reasoning" : "message";
    if (this.#talking?.item.type !== kind) {
      if (kind === "reasoning") this.#open(kind, "rs", { summary: [], content: [] });
      else this.#open(kind, "msg", { role: "assistant", content: [] });
    }
    const open = this.#talking as unknown as Open;
    if (open.part?.type !== type) this.#begin(open, type);
    const part = open.part as unknown as Part;
    const more = (logprobs as { content?: unknown } | null | undefined)?.content;
    const fresh = Array.isArray(more) ? more : [];
    part.text += text;
    part.logprobs.push(...fresh);
    const extra = type === "output_text" ? { logprobs: fresh } : {};
    this.#tell(`${DELTAS[type]}.delta`, open, { content_index: part.index, delta: text, ...extra });
  }

  #call(told: JsonObject): void {
    const wanted = (told.function ?? {}) as JsonObject;
    const at = typeof told.index === "number" ? told.index : this.#calls.size;
    let open = this.#calls.get(at);
    if (open === undefined) {
      this.#stopTalking("completed");
      const call_id = typeof told.id === "string" ? told.id : `call_${this.#stem}_${at}`;
      open = this.#append("function_call", "fc", { call_id, name: wanted.name ?? "", arguments: "" });
      this.#calls.set(at, open);
    } else if (typeof wanted.name === "string" && open.item.name === "") open.item.name = wanted.name;
    const more = wanted.arguments ?? "";
    const text = typeof more === "string" ? more : JSON.stringify(more);
    if (text === "") return;
    open.item.arguments = `${open.item.arguments}${text}`;
    this.#tell("response.function_call_arguments.delta", open, { delta: text });
  }

  #open(type: string, prefix: string, fields: JsonObject): void {
    this.#stopTalking("completed");
    this.#talking = this.#append(type, prefix, fields);
  }

  #append(type: string, prefix: string, fields: JsonObject): Open {
    const at = this.items.length;
    const item: Item = { id: `${prefix}_${this.#stem}_${at}`, type, status: "in_progress", ...fields };
    this.items.push(item);
    const open: Open = { item, at, part: null };
    const content = "content" in fields ? { content: [] } : {};
    this.#tell("response.output_item.added", open, { item: { ...item, ...content } }, false);
    return open;
  }

  #begin(open: Open, type: Part["type"]): void {
    this.#endPart(open);
    const part: Part = { type, index: (open.item.content as unknown[]).length, text: "", logprobs: [] };
    open.part = part;
    this.#tell("response.content_part.added", open, { content_index: part.index, part: shapeOf(part) });
  }

  #endPart(open: Open): void {
    const { part } = open;
    if (part === null) return;
    const { index: content_index, type, text, logprobs } = part;
    const said = type === "refusal" ? { refusal: text } : { text };
    this.#tell(`${DELTAS[type]}.done`, open, { content_index, ...said, ...(type === "output_text" && { logprobs }) });
    this.#tell("response.content_part.done", open, { content_index, part: shapeOf(part) });
    (open.item.content as unknown[]).push(shapeOf(part));
    open.part = null;
  }

  #stopTalking(status: Status): void {
    const open = this.#talking;
    if (open === null) return;
    this.#endPart(open);
    open.item.status = status;
    this.#tell("response.output_item.done", open, { item: { ...open.item } }, false);
    this.#talking = null;
  }

  /** Events about an item as a whole hold it, and others its id. */
  #tell(type: string, { item, at }: Open, fields: JsonObject, byId = !("item" in fields)): void {
    this.#events.push({ type, ...(byId && { item_id: item.id }), output_index: at, ...fields });
  }

  #told(): ResponseEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }
}

function shapeOf({ type, text, logprobs }: Part): JsonObject {
  if (type === "refusal") return { type, refusal: text };
  return type === "output_text" ? { type, text, annotations: [], logprobs: [...logprobs] } : { type, text };
}
