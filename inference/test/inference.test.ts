import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundled, start } from "./worker.ts";

const folder = new URL("../../tests/contract/embedder/", import.meta.url);
const content = (name: string): Buffer => readFileSync(new URL(name, folder));
const contract = JSON.parse(content("cases.json").toString()) as {
  limit: number;
  cases: { text: string; ids: number[]; vector: number[] }[];
};
const { limit } = contract;
// Those at the limit were cut there, which is refused here.
const cases = contract.cases.filter(({ ids }) => ids.length < limit);
const texts = cases.map(({ text }) => text);

interface FileRef {
  name: string;
  key: string;
  sha256: string;
  bytes: number;
}
interface Answer {
  vectors: number[][];
  tokens: number;
  unknown: number;
  error: { code: string; message: string };
}

let runtime: Miniflare;
const logged: string[] = [];

async function put(key: string, bytes: Uint8Array, name = key): Promise<FileRef> {
  await (await runtime.getR2Bucket("MODELS")).put(key, bytes);
  return { name, key, sha256: createHash("sha256").update(bytes).digest("hex"), bytes: bytes.byteLength };
}

async function asked(body: object | string, path = "/embed"): Promise<{ status: number; answer: Answer }> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await runtime.dispatchFetch(`http://inference${path}`, { method: "POST", body: text });
  return { status: response.status, answer: (await response.json()) as Answer };
}

const health = async (): Promise<{ models: number; heap_bytes: number; waiting: number }> =>
  (await (await runtime.dispatchFetch("http://inference/health")).json()) as never;

let model: FileRef;
let tokenizer: FileRef;

beforeAll(async () => {
  runtime = await start(await bundled(), (line) => void logged.push(line));
  model = await put("m", content("model.onnx"), "model.onnx");
  tokenizer = await put("t", content("tokenizer.json"), "tokenizer.json");
}, 60_000);
afterAll(() => runtime?.dispose());

describe("the inference Worker", () => {
  it("counts the words that the model doesn't know", async () => {
    const ask = async (text: string) =>
      (await asked({ files: [model, tokenizer], texts: [text], max_tokens: limit })).answer;
    expect(await ask("the quick brown fox")).toMatchObject({ unknown: 0 });
    const two = [await ask("the 龘"), await ask("the 鱻")];
    expect(two).toMatchObject([{ unknown: 1 }, { unknown: 1 }]);
    expect(two[0]?.vectors).toEqual(two[1]?.vectors);
  });

  it("gives onnxruntime's vectors, each in its text's place, alone or among others", async () => {
    const { answer } = await asked({ files: [model, tokenizer], texts, max_tokens: limit });
    expect(answer.tokens).toBe(cases.reduce((sum, { ids }) => sum + ids.length, 0));
    for (const [at, { vector }] of cases.entries()) {
      for (const [place, value] of vector.entries()) expect(answer.vectors[at]?.[place]).toBeCloseTo(value, 4);
    }
    const alone = await asked({ files: [model, tokenizer], texts: [texts[1]], max_tokens: limit });
    for (const [place, value] of (alone.answer.vectors[0] as number[]).entries())
      expect(value).toBeCloseTo(cases[1]?.vector[place] as number, 4);
  });

  it("loads a model once however many ask at once, and answers all of them", async () => {
    const many = await Promise.all(
      Array.from({ length: 40 }, () =>
        asked({ files: [model, tokenizer], texts: texts.slice(0, 3), max_tokens: limit }),
      ),
    );
    expect(many.map(({ status }) => status)).toEqual(Array(40).fill(200));
    expect(await health()).toMatchObject({ models: 1, waiting: 0 });
  });

  it("never uses a file that isn't what was declared, and goes on with the next request", async () => {
    const flipped = Uint8Array.from(content("model.onnx"));
    flipped[100] = (flipped[100] as number) ^ 1;
    await put("damaged", flipped);
    // A digest that hasn't been loaded: one that has is never fetched again.
    const damaged = { ...model, key: "damaged", sha256: "f".repeat(64) };
    const short = await put("short", content("model.onnx").subarray(0, 200), "model.onnx");
    const wrong: [FileRef, FileRef, number, string][] = [
      [damaged, tokenizer, 422, "artifact_damaged"],
      [{ ...short, bytes: 4_000 }, tokenizer, 422, "artifact_damaged"],
      [short, tokenizer, 422, "model_unfit"],
      [{ ...model, key: "none", sha256: "e".repeat(64) }, tokenizer, 404, "artifact_not_found"],
      [model, { ...model, name: "tokenizer.json" }, 422, "tokenizer_unfit"],
      [model, { ...tokenizer, name: "vocab.txt" }, 422, "artifact_incomplete"],
      [{ ...model, sha256: "0".repeat(64), bytes: 40 * 1024 * 1024 }, tokenizer, 422, "model_too_large"],
    ];
    for (const [first, second, status, code] of wrong) {
      const found = await asked({ files: [first, second], texts: ["a"], max_tokens: limit });
      expect([found.status, found.answer.error.code]).toEqual([status, code]);
    }
    // The client is told of no cause: whoever looks after the stage finds it here.
    await expect.poll(() => logged.length).toBeGreaterThanOrEqual(wrong.length);
    const faults = logged.map((line) => JSON.parse(line) as { event: string; code: string; fault: string });
    expect(faults.map(({ event, code }) => [event, code])).toEqual(
      wrong.map(([, , , code]) => ["inference_failed", code]),
    );
    expect(faults[3]?.fault).toBe("none has not been published");
    expect((await asked({ files: [model, tokenizer], texts: ["a"], max_tokens: limit })).status).toBe(200);
  });

  it("a model that was not there is found once it is published", async () => {
    const other = await put("late-t", Buffer.concat([content("tokenizer.json"), Buffer.from("\n")]), "tokenizer.json");
    const late = { ...model, key: "late" };
    expect((await asked({ files: [late, other], texts: ["a"], max_tokens: limit })).status).toBe(404);
    await put("late", content("model.onnx"));
    expect((await asked({ files: [late, other], texts: ["a"], max_tokens: limit })).status).toBe(200);
  });

  it("refuses a text that it could not read to its end, and says which", async () => {
    const { status, answer } = await asked({
      files: [model, tokenizer],
      texts: ["a", "the ".repeat(9)],
      max_tokens: 10,
    });
    expect([status, answer.error.code]).toEqual([413, "text_too_long"]);
    expect(logged.join()).not.toContain("text_too_long");
    expect(answer.error.message).toContain("Text 1 has more than the 10 tokens");
    expect((await asked({ files: [model, tokenizer], texts: ["the ".repeat(8)], max_tokens: 10 })).status).toBe(200);
  });

  it.each([
    ["no JSON", "{"],
    ["no texts", { texts: [] }],
    ["a text that is none", { texts: [1] }],
    ["a limit that leaves no room", { max_tokens: 2 }],
    ["a digest that is none", { files: [{ name: "model.onnx", key: "m", sha256: "x", bytes: 1 }] }],
    ["an unknown field", { other: 1 }],
  ])("refuses a request with %s by a sentence", async (_, change) => {
    const body =
      typeof change === "string" ? change : { files: [model, tokenizer], texts: ["a"], max_tokens: limit, ...change };
    const { status, answer } = await asked(body);
    expect([status, answer.error.code]).toEqual([400, "invalid_request"]);
  });

  it("has no other paths", async () => {
    expect((await asked({}, "/")).status).toBe(404);
  });
});
