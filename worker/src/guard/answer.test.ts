import { describe, expect, it } from "vitest";
import { sse } from "../../test/support/fake-ai.ts";
import { eventsOf, Stage, stageConfig } from "../../test/support/stage.ts";

type Json = Record<string, unknown>;

interface ChunkChoice {
  index: number;
  delta: { content?: string; reasoning?: string; tool_calls?: { index: number; function: { arguments: string } }[] };
  finish_reason: string | null;
  logprobs: unknown;
}

const RULES = { mask_answers: true, blocklist: ["project falcon", "敏感词"] };
const USAGE = { prompt_tokens: 7, completion_tokens: 9, total_tokens: 16 };
const stageWith = (guard: Json) => new Stage({ ...stageConfig(), guard });

/** A stage whose model says these messages, one a choice, whole or in pieces of `size` characters. */
function saying(guard: Json, messages: Json[], size = 3): Stage {
  const stage = stageWith(guard);
  stage.ai.replyWith(({ inputs }) => {
    const reason = (message: Json) => (message.tool_calls === undefined ? "stop" : "tool_calls");
    if (inputs.stream !== true) {
      const choices = messages.map((message, index) => ({
        index,
        message: { role: "assistant", ...message },
        logprobs: { content: [{ token: "t" }] },
        finish_reason: reason(message),
      }));
      return Response.json({ choices, usage: USAGE });
    }
    const pieces = messages.flatMap((message, index) =>
      deltas(message, size).map((delta) => ({ index, delta, logprobs: { content: [] }, finish_reason: null })),
    );
    // The choices take turns.
    const turns = pieces.map((piece, at) => ({ piece, at })).sort((left, right) => (left.at % 5) - (right.at % 5));
    const mixed =
      messages.length === 1
        ? pieces
        : inOrder(
            turns.map(({ piece }) => piece),
            pieces,
          );
    const ends = messages.map((message, index) => ({ index, delta: {}, finish_reason: reason(message) }));
    const events = [...mixed, ...ends].map((choice) => JSON.stringify({ choices: [choice] }));
    return sse([...events, JSON.stringify({ choices: [], usage: USAGE }), "[DONE]"]);
  });
  return stage;
}

/** The same order of choices as in `mixed`, but each choice's own pieces in the order of `pieces`. */
function inOrder<T extends { index: number }>(mixed: T[], pieces: T[]): T[] {
  const queues = Map.groupBy(pieces, ({ index }) => index);
  return mixed.map(({ index }) => queues.get(index)?.shift() as T);
}

function deltas(message: Json, size: number): Json[] {
  const cut = (text: string) => text.match(new RegExp(`[^]{1,${size}}`, "gu")) ?? [];
  return Object.entries(message).flatMap(([name, value]): Json[] => {
    if (name !== "tool_calls") return cut(value as string).map((part) => ({ [name]: part }));
    return (value as { function: { name: string; arguments: string } }[]).flatMap((call, index) => [
      {
        tool_calls: [
          { index, id: `c${index}`, type: "function", function: { name: call.function.name, arguments: "" } },
        ],
      },
      ...cut(call.function.arguments).map((part) => ({ tool_calls: [{ index, function: { arguments: part } }] })),
    ]);
  });
}

/** The choices that a stream adds up to. */
function foldChoices(events: Json[]) {
  const choices = new Map<number, { content: string; reasoning: string; calls: string[]; ended: (string | null)[] }>();
  for (const choice of events.flatMap((event) => (event.choices as ChunkChoice[] | undefined) ?? [])) {
    const all = choices.get(choice.index) ?? { content: "", reasoning: "", calls: [], ended: [] };
    choices.set(choice.index, all);
    all.content += choice.delta.content ?? "";
    all.reasoning += choice.delta.reasoning ?? "";
    for (const call of choice.delta.tool_calls ?? []) {
      all.calls[call.index] = (all.calls[call.index] ?? "") + (call.function.arguments ?? "");
    }
    if (choice.finish_reason !== null) all.ended.push(choice.finish_reason);
  }
  return [...choices.entries()].sort(([left], [right]) => left - right).map(([, choice]) => choice);
}

const whole = async (stage: Stage, body: Json = {}) => (await stage.chat(body)).json() as Promise<{ choices: Json[] }>;
const call = (args: unknown) => ({ function: { name: "send", arguments: JSON.stringify(args) } });

describe("guarded answers", () => {
  it("are as they were on a stage that guards nothing, log probabilities included", async () => {
    const stage = saying({}, [{ content: "Mail ann@example.com about project falcon." }]);
    const { choices } = await whole(stage, { logprobs: true });
    expect(choices).toMatchObject([
      { message: { content: "Mail ann@example.com about project falcon." }, logprobs: { content: [{ token: "t" }] } },
    ]);
  });

  it.each([1, 2, 3, 7, 50])("mask what is personal, whole and streamed in pieces of %i", async (size) => {
    const message = {
      reasoning: "Her card is 4111 1111 1111 1111, 电话13812345678。",
      content: "Mail ann@example.com!",
    };
    const masked = { reasoning: "Her card is [card], 电话[phone]。", content: "Mail [email]!" };
    const stage = saying(RULES, [message], size);
    const { choices } = await whole(stage);
    expect(choices).toMatchObject([{ message: masked, logprobs: null, finish_reason: "stop" }]);
    const events = await eventsOf(await stage.chat({ stream: true, stream_options: { include_usage: true } }));
    expect(foldChoices(events)).toEqual([{ ...masked, calls: [], ended: ["stop"] }]);
    expect(JSON.stringify(events)).not.toContain('"content":[');
    expect(events.at(-2)).toMatchObject({ usage: USAGE });
  });

  it.each([1, 4, 9])("mask the arguments of each call and leave them JSON, in pieces of %i", async (size) => {
    const calls = [
      call({ to: "ann@example.com", text: 'Dear "Ann",\n13812345678', n: 1 }),
      call({ card: 4111111111111111, note: "敏 感" }),
    ];
    const masked = [
      { to: "[email]", text: 'Dear "Ann",\n[phone]', n: 1 },
      { card: "[card]", note: "敏 感" },
    ];
    const stage = saying(RULES, [{ content: "I send it.", tool_calls: calls }], size);
    const { choices } = await whole(stage);
    const made = (choices[0] as { message: { tool_calls: { function: { arguments: string } }[] } }).message.tool_calls;
    expect(made.map((one) => JSON.parse(one.function.arguments))).toEqual(masked);
    const [choice] = foldChoices(await eventsOf(await stage.chat({ stream: true })));
    expect(choice).toMatchObject({ content: "I send it.", ended: ["tool_calls"] });
    expect(choice?.calls.map((text) => JSON.parse(text))).toEqual(masked);
  });

  it.each([1, 3, 8])("end at a blocked phrase, and each choice by itself, in pieces of %i", async (size) => {
    const stage = saying(
      RULES,
      [
        { content: "All about Project\n Falcon and its budget." },
        { content: "Nothing of it: projector." },
        { content: "这里有敏感词，不可外传。" },
      ],
      size,
    );
    const seen = [
      ["All about ", "content_filter"],
      ["Nothing of it: projector.", "stop"],
      ["这里有", "content_filter"],
    ];
    const { choices } = await whole(stage, { n: 3 });
    expect(choices).toMatchObject(seen.map(([content, finish_reason]) => ({ message: { content }, finish_reason })));
    const events = await eventsOf(await stage.chat({ stream: true, n: 3 }));
    expect(foldChoices(events).map(({ content, ended }) => [content, ...ended])).toEqual(seen);
    expect(events.at(-1)).toEqual({ done: true });
  });

  it("are looked over in fields that hold more than text, too", async () => {
    const details = (text: string) => [{ type: "reasoning.text", text }];
    const stage = stageWith(RULES);
    stage.ai.replyWith(() =>
      Response.json({
        choices: [
          {
            index: 0,
            message: { role: "assistant", content: "Done.", reasoning_details: details("ask ann@example.com") },
            finish_reason: "stop",
          },
        ],
      }),
    );
    const piece = (delta: Json, finish_reason: string | null = null) =>
      JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] });
    expect((await whole(stage)).choices).toMatchObject([
      { message: { reasoning_details: details("ask [email]"), content: "Done." } },
    ]);
    for (const [text, seen] of [
      ["ask ann@example.com", "ask [email]"],
      ["it is project falcon", "content_filter"],
    ] as const) {
      stage.ai.replyWith(() =>
        sse([piece({ reasoning_details: details(text) }), piece({ content: "Done." }, "stop"), "[DONE]"]),
      );
      const told = JSON.stringify(await eventsOf(await stage.chat({ stream: true })));
      expect(told).toContain(seen);
      expect(told).not.toMatch(/ann@|falcon/);
    }
  });

  it("make no call whose arguments hold a blocked phrase", async () => {
    const stage = saying(RULES, [{ content: "Yes.", tool_calls: [call({ topic: "project falcon" })] }]);
    const { choices } = await whole(stage);
    expect(choices).toMatchObject([{ finish_reason: "content_filter", message: { content: "Yes." } }]);
    expect(JSON.stringify(choices)).not.toContain("tool_calls");
    const [choice] = foldChoices(await eventsOf(await stage.chat({ stream: true })));
    expect(choice?.ended).toEqual(["content_filter"]);
    expect(JSON.stringify(choice)).not.toMatch(/falcon/i);
  });

  it("are logged by the kinds of their hits, and what they cost is what the model told", async () => {
    const stage = saying(RULES, [{ content: "ann@example.com, bob@example.com: 敏感词" }]);
    await whole(stage);
    await eventsOf(await stage.chat({ stream: true }));
    for (const line of stage.requestLogs) {
      expect(line).toMatchObject({ completion_tokens: 9, usage_estimated: false });
      expect([...(line.guard as string[])].toSorted()).toEqual(["answer:blocklist", "answer:email"]);
    }
  });

  it("are kept in the cache as they were given, and a blocked one not at all", async () => {
    const stage = saying(RULES, [{ content: "Mail ann@example.com!" }]);
    const body = { temperature: 0 };
    expect((await stage.chat(body)).headers.get("x-sluiceway-cache")).toBe("miss");
    const again = await stage.chat(body);
    expect(again.headers.get("x-sluiceway-cache")).toBe("hit");
    expect(await again.json()).toMatchObject({ choices: [{ message: { content: "Mail [email]!" } }] });
    const blocked = saying(RULES, [{ content: "Of project falcon." }]);
    for (const stream of [false, true, false]) {
      expect((await blocked.chat({ ...body, stream, seed: 5 })).headers.get("x-sluiceway-cache")).toBe("miss");
    }
  });

  it("from the cache are looked over again, since what the stage lets through may have changed since", async () => {
    const said = [{ content: "Mail ann@example.com about project falcon." }];
    const body = { temperature: 0, seed: 77 };
    const lax = saying({}, said);
    expect((await lax.chat(body)).headers.get("x-sluiceway-cache")).toBe("miss");
    const strict = saying(RULES, said);
    const kept = await strict.chat(body);
    expect(kept.headers.get("x-sluiceway-cache")).toBe("hit");
    const seen = "Mail [email] about ";
    expect(await kept.json()).toMatchObject({
      choices: [{ message: { content: seen }, finish_reason: "content_filter" }],
    });
    const streamed = await strict.chat({ ...body, stream: true });
    expect(streamed.headers.get("x-sluiceway-cache")).toBe("hit");
    expect(foldChoices(await eventsOf(streamed))).toMatchObject([{ content: seen, ended: ["content_filter"] }]);
  });

  it("begin for the client when there is something to be seen, and say nothing in vain", async () => {
    const stage = saying(RULES, [{ content: "4111 1111 1111 1111 is a card." }], 1);
    const events = await eventsOf(await stage.chat({ stream: true }));
    const texts = events.flatMap((event) => (event.choices as ChunkChoice[] | undefined) ?? []);
    expect(texts[0]?.delta.content).toBe("[card] ");
  });

  it("that break off tell nothing of what was held back", async () => {
    const stage = stageWith(RULES);
    const piece = (content: string) =>
      JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
    stage.ai.replyWith(() => sse([piece("Her mail is "), piece("ann@exam")]));
    const events = await eventsOf(await stage.chat({ stream: true }));
    expect(JSON.stringify(events)).not.toContain("ann@");
    expect(events.at(-1)).toMatchObject({ error: { code: "upstream_broken" } });
  });
});
