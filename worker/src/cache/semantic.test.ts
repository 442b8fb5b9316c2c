import { describe, expect, it } from "vitest";
import { type AiRun, answerWith } from "../../test/support/fake-ai.ts";
import { eventsOf, Stage, stageConfig, textOfEvents } from "../../test/support/stage.ts";
import { similarity } from "./vectors.ts";

type Json = Record<string, unknown>;
const BGE = "@cf/baai/bge-m3";
let turn = 0;

/** A vector by a text's words, in any order: near when most words are the same. */
function vectorOf(text: string): number[] {
  const vector = Array.from({ length: 64 }, () => 0);
  for (const word of text.toLowerCase().match(/[\p{L}]+/gu) ?? []) {
    let at = 7;
    for (const char of word) at = (at * 31 + (char.codePointAt(0) ?? 0)) % 64;
    vector[at] = (vector[at] ?? 0) + 1;
  }
  return vector;
}

function embedding({ inputs }: AiRun): Response {
  const data = (inputs.text as string[]).map(vectorOf);
  return Response.json({ shape: [data.length, 64], data, usage: { prompt_tokens: 5, completion_tokens: 0 } });
}

function semanticStage(semantic: Json = {}, cache: Json = {}, models: Json = {}): Stage {
  const embed = {
    task: "embed",
    versions: { "1": { backend: "workers-ai", id: BGE, price: { input: 12, output: 0 } } },
    split: [[1, 100]],
  };
  const stage = new Stage({
    models: { ...(stageConfig().models as Json), embed, ...models },
    cache: { enabled: true, ttl: 300, semantic: { model: "embed", threshold: 0.85, ...semantic }, ...cache },
  });
  stage.ai.replyWith((run) => (run.model === BGE ? embedding(run) : answerWith(`answer ${++turn}`)(run)));
  return stage;
}

const system = () => ({ role: "system", content: `conversation ${++turn}` });
const asked = (content: unknown, before: Json = system(), more: Json = {}) => ({
  messages: [before, { role: "user", content }],
  temperature: 0,
  ...more,
});

async function outcome(stage: Stage, body: Json): Promise<string | null> {
  return (await stage.chat(body)).headers.get("x-sluiceway-cache");
}

const chats = (stage: Stage) => stage.ai.runs.filter(({ model }) => model !== BGE).length;

describe("semantic cache", () => {
  it("answers nearly the same question with what it kept, in both forms", async () => {
    const stage = semanticStage();
    const before = system();
    const first = (await (await stage.chat(asked("how far is the moon from here", before))).json()) as Json;
    const again = await stage.chat(asked("From here, how far is the moon?", before));
    expect(again.headers.get("x-sluiceway-cache")).toBe("semantic");
    expect(((await again.json()) as Json).choices).toEqual(first.choices);
    const streamed = await stage.chat(asked("how far from here is the moon", before, { stream: true }));
    expect(streamed.headers.get("x-sluiceway-cache")).toBe("semantic");
    const [choice] = first.choices as { message: { content: string } }[];
    expect(textOfEvents(await eventsOf(streamed))).toBe(choice?.message.content);
    expect(chats(stage)).toBe(1);
    expect(stage.requestLogs.at(-1)?.cache).toBe("semantic");
  });

  it("asks for no vector when the very same question was kept", async () => {
    const stage = semanticStage();
    const body = asked("how far is the moon");
    await stage.chat(body);
    const runs = stage.ai.runs.length;
    expect(await outcome(stage, body)).toBe("hit");
    expect(stage.ai.runs).toHaveLength(runs);
  });

  it("misses a question that is not near enough, by the stage's threshold", async () => {
    const before = system();
    const near = ["how far is the moon from here", "how far is the sun from here"] as const;
    const strict = semanticStage({ threshold: 0.9 });
    await strict.chat(asked(near[0], before));
    expect(await outcome(strict, asked(near[1], before))).toBe("miss");
    const other = system();
    const lax = semanticStage({ threshold: 0.8 });
    await lax.chat(asked(near[0], other));
    expect(await outcome(lax, asked(near[1], other))).toBe("semantic");
  });

  it.each([
    ["a number", "add 17 to this sum for me please", "add 18 to this sum for me please"],
    ["a number in words", "add seven to this sum for me please", "add eight to this sum for me please"],
    ["a number in Chinese", "请 帮 我 把 十七 加 到 这个 总和 里", "请 帮 我 把 十八 加 到 这个 总和 里"],
    ["a date", "what happened on 2024-05-01 in the world", "what happened on 2024-05-02 in the world"],
    ["a direction", "please change my dollars to euros today", "please change my euros to dollars today"],
    ["a denial", "may I eat this at night when tired", "may I not eat this at night when tired"],
    [
      "a denial in Chinese",
      "我 今天 晚上 可以 吃 这个 东西 吗 请 告诉 我",
      "我 今天 晚上 不 可以 吃 这个 东西 吗 请 告诉 我",
    ],
  ])("misses when only %s differs", async (_, first, second) => {
    const stage = semanticStage({ threshold: 0.8 });
    const before = system();
    await stage.chat(asked(first, before));
    expect(await outcome(stage, asked(second, before))).toBe("miss");
  });

  it.each([
    ["what was said before", { before: { role: "system", content: "another" } }],
    ["max_tokens", { more: { max_tokens: 77 } }],
    ["tools", { more: { tools: [{ type: "function", function: { name: "f" } }] } }],
    ["an unknown field", { more: { x: 1 } }],
    ["the model version", { more: { model: "chat@2" } }],
    ["the name of the speaker", { name: "bob" }],
  ])(
    "gw_05 misses when %s differs",
    async (_, { before, more, name }: { before?: Json; more?: Json; name?: string }) => {
      const stage = semanticStage();
      const own = system();
      await stage.chat(asked("how far is the moon from here", own));
      const body = asked("from here how far is the moon", before ?? own, more);
      if (name !== undefined) Object.assign(body.messages[1] as Json, { name });
      expect(await outcome(stage, body)).toBe("miss");
    },
  );

  it("gw_05 never gives one tenant another's answer", async () => {
    const before = system();
    const stage = semanticStage();
    await stage.chat(asked("how far is the moon from here", before));
    stage.env.API_KEY = "other-key";
    const other = { authorization: "Bearer other-key" };
    const response = await stage.chat(asked("from here how far is the moon", before), other);
    expect([response.status, response.headers.get("x-sluiceway-cache")]).toEqual([200, "miss"]);
  });

  it("compares no pictures, no tool results and no very long texts", async () => {
    const stage = semanticStage();
    const tool = { role: "tool", tool_call_id: "c", content: "5" };
    const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
    const calling = { role: "assistant", content: null, tool_calls: [call] };
    await stage.chat({ messages: [{ role: "user", content: "hi" }, calling, tool], temperature: 0 });
    await stage.chat(asked("long ".repeat(2000)));
    await stage.chat(asked("  "));
    expect(stage.ai.runs.filter(({ model }) => model === BGE)).toEqual([]);
    const parts = [
      { type: "text", text: "how far is" },
      { type: "text", text: "the moon" },
    ];
    await stage.chat(asked(parts));
    expect(stage.ai.runs.filter(({ model }) => model === BGE)).toHaveLength(1);
  });

  it.each([
    ["refuses", () => Response.json({ internalCode: 3040, description: "busy" }, { status: 429 })],
    ["gives no vector", () => Response.json({ shape: [1, 3], data: [[0, 0, 0]] })],
    ["gives rubbish", () => new Response("<html>")],
    ["never answers", () => new Promise<Response>(() => {})],
  ])("is a miss when the model of the vectors %s", async (_, embed) => {
    const stage = semanticStage();
    stage.ai.replyWith((run) => (run.model === BGE ? embed() : answerWith("x")(run)));
    const response = await stage.chat(asked("how far is the moon"));
    expect([response.status, response.headers.get("x-sluiceway-cache")]).toEqual([200, "miss"]);
  });

  it("is a miss once the answer's time is over", async () => {
    const stage = semanticStage({}, { ttl: 10 });
    const before = system();
    await stage.chat(asked("how far is the moon from here", before));
    stage.ahead = 11_000;
    expect(await outcome(stage, asked("from here how far is the moon", before))).toBe("miss");
  });

  it("looks through no more answers than the stage says", async () => {
    const stage = semanticStage({ entries: 2 });
    const before = system();
    for (const text of ["apples pears plums", "rivers lakes seas", "iron copper tin"]) {
      await stage.chat(asked(text, before));
    }
    expect(await outcome(stage, asked("tin iron copper", before))).toBe("semantic");
    expect(await outcome(stage, asked("pears plums apples", before))).toBe("miss");
  });

  it("books what the vectors cost", async () => {
    const stage = semanticStage();
    const before = system();
    await stage.chat(asked("how far is the moon from here", before));
    await stage.chat(asked("from here how far is the moon", before));
    expect(stage.requestLogs.map((line) => line.cost_usd)).toEqual([5 * 12e-6, 5 * 12e-6]);
  });

  describe("with an encoder that runs beside the gateway", () => {
    const file = { name: "model.onnx", key: "m", sha256: "ab".repeat(32), bytes: 9 };
    const tiny = {
      task: "embed",
      versions: { "1": { backend: "onnx", artifact: { files: [file] } } },
      split: [[1, 100]],
    };

    /** `told`: what the inference Worker answers to a text. */
    function beside(told: (text: string) => Response): Stage {
      const fetch = async (_: string, init: RequestInit) =>
        told((JSON.parse(init.body as string) as Json).texts as string);
      const stage = new Stage(
        {
          models: { ...(stageConfig().models as Json), tiny },
          cache: { enabled: true, ttl: 300, semantic: { model: "tiny", threshold: 0.85 } },
        },
        { INFERENCE: { fetch } as unknown as Fetcher },
      );
      stage.ai.replyWith((run) => answerWith(`answer ${++turn}`)(run));
      return stage;
    }

    const near = ["how far is the moon from here", "from here how far is the moon"] as const;
    const vectors = (text: string) => [vectorOf(String(text))];

    it("answers nearly the same question, and costs nothing for it", async () => {
      const stage = beside((text) => Response.json({ vectors: vectors(text), tokens: 7, unknown: 0 }));
      const before = system();
      await stage.chat(asked(near[0], before));
      expect(await outcome(stage, asked(near[1], before))).toBe("semantic");
      expect(stage.requestLogs.map((line) => line.cost_usd)).toEqual([0, 0]);
    });

    it.each([
      [
        "holds a word that the model doesn't know",
        (text: string) => ({ vectors: vectors(text), tokens: 7, unknown: 1 }),
        200,
      ],
      ["is longer than the model reads", () => ({ error: { code: "text_too_long", message: "too long" } }), 413],
      ["finds no place in the queue", () => ({ error: { code: "busy", message: "busy" } }), 429],
      ["can't be embedded", () => ({ error: { code: "run_failed", message: "no" } }), 500],
      ["gets no vector", () => ({ vectors: [], tokens: 0, unknown: 0 }), 200],
    ])("is a miss, and no failure, when the text %s", async (_, told, status) => {
      const stage = beside((text) => Response.json(told(text), { status }));
      const before = system();
      for (const text of near) {
        const response = await stage.chat(asked(text, before));
        expect([response.status, response.headers.get("x-sluiceway-cache")]).toEqual([200, "miss"]);
      }
    });

    it("is a miss when the inference Worker isn't there", async () => {
      const stage = beside(() => {
        throw new Error("gone");
      });
      expect(await outcome(stage, asked(near[0]))).toBe("miss");
    });
  });

  it("needs a model of its stage that makes vectors", () => {
    const semantic = (model: string) => () => new Stage({ cache: { enabled: true, ttl: 1, semantic: { model } } });
    expect(semantic("none")).toThrow("config.json: cache.semantic.model: `none` is no model of task embed");
    expect(semantic("chat")).toThrow("`chat` is no model of task embed");
  });
});

describe("similarity", () => {
  it("is 1 for the same direction, 0 for what can't be compared", () => {
    const packed = (...values: number[]) => Int8Array.from(values);
    expect(similarity(packed(1, 2), packed(2, 4))).toBeCloseTo(1);
    expect(similarity(packed(1, 0), packed(0, 1))).toBe(0);
    expect(similarity(packed(1), packed(1, 1))).toBe(0);
  });
});
