import type { AiRunOptions } from "../../src/backends/workers-ai.ts";

export interface AiRun {
  model: string;
  inputs: Record<string, unknown>;
  options: AiRunOptions;
  /** Whether the caller gave the run up. */
  aborted: boolean;
}

type Reply = (run: AiRun) => Response | Promise<Response>;

const encoder = new TextEncoder();

/**
 * Stands in for the AI binding at the level of its HTTP answers, which is where Workers AI's own behaviour shows:
 * statuses, error bodies, chunking, the 256 token cap. What is asked of it is kept in `runs`.
 */
export class FakeAi {
  readonly runs: AiRun[] = [];
  #reply: Reply = (run) => answerWith("Hello from the model.")(run);

  replyWith(reply: Reply): void {
    this.#reply = reply;
  }

  async run(model: string, inputs: Record<string, unknown>, options: AiRunOptions): Promise<Response> {
    const run: AiRun = { model, inputs: structuredClone(inputs), options, aborted: false };
    this.runs.push(run);
    const aborted = new Promise<never>((_, reject) => {
      options.signal.addEventListener("abort", () => {
        run.aborted = true;
        reject(options.signal.reason);
      });
    });
    // A reply that throws at once never comes to the race.
    aborted.catch(() => {});
    return Promise.race([this.#reply(run), aborted]);
  }

  get lastRun(): AiRun {
    const run = this.runs.at(-1);
    if (run === undefined) throw new Error("the model was not asked");
    return run;
  }
}

/** Replies with a text in either form, as GLM and Kimi do: OpenAI's shape, one token a word, capped by `max_tokens`. */
export function answerWith(text: string, options: { usage?: boolean } = {}): Reply {
  return ({ model, inputs }) => {
    const tokens = text.match(/\S+\s*/g) ?? [];
    const cap = (inputs.max_tokens as number | undefined) ?? 256;
    const said = tokens.slice(0, cap);
    const finish = said.length < tokens.length ? "length" : "stop";
    const usage = { prompt_tokens: 7, completion_tokens: said.length, total_tokens: 7 + said.length };
    const told = options.usage === false ? {} : { usage };
    const head = { id: "up-1", model, created: 1 };
    if (inputs.stream !== true) {
      const message = { role: "assistant", content: said.join("") };
      return Response.json({ ...head, choices: [{ index: 0, message, finish_reason: finish }], ...told });
    }
    const choice = (delta: unknown, reason: string | null) => ({
      ...head,
      choices: [{ index: 0, delta, finish_reason: reason }],
    });
    const events: unknown[] = [choice({ role: "assistant", content: "" }, null)];
    events.push(...said.map((token) => choice({ content: token }, null)), choice({}, finish));
    if (options.usage !== false) events.push({ ...head, choices: [], usage });
    return sse([...events.map((event) => JSON.stringify(event)), "[DONE]"]);
  };
}

/** Refuses as the binding's service does. */
export function refuse(status: number, internalCode: number, description: string, headers: HeadersInit = {}): Reply {
  return () => Response.json({ internalCode, description, name: "AiError" }, { status, headers });
}

/** A stream of events, each written as one chunk. */
export function sse(data: string[]): Response {
  return streamOf(data.map((item) => encoder.encode(`data: ${item}\n\n`)));
}

/** A stream of these bytes, cut as they are; `error` breaks it at the end. */
export function streamOf(chunks: Uint8Array[], error?: Error): Response {
  const rest = [...chunks];
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const chunk = rest.shift();
      if (chunk !== undefined) controller.enqueue(chunk);
      else if (error !== undefined) controller.error(error);
      else controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

/** One event of OpenAI's shape that says `content`. */
export function delta(content: string): string {
  return JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
}

/** A stream that says these texts, then nothing for ever, until it is cancelled. */
export function stall(texts: string[], onCancel: () => void = () => {}): Response {
  const rest = texts.map((text) => encoder.encode(`data: ${delta(text)}\n\n`));
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = rest.shift();
      if (chunk !== undefined) controller.enqueue(chunk);
      else await new Promise(() => {});
    },
    cancel: onCancel,
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}
