import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import type { Miniflare } from "miniflare";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { bundled, start } from "./worker.ts";

const folder = new URL("../../tests/contract/embedder/", import.meta.url);
const model = readFileSync(new URL("model.onnx", folder));
const tokenizer = readFileSync(new URL("tokenizer.json", folder));
const PATIENCE_MS = 15_000;
const MODELS = inject("long") ? 12 : 4;

let runtime: Miniflare;
let url: URL;

beforeAll(async () => {
  runtime = await start(await bundled());
  url = await runtime.ready;
}, 60_000);
afterAll(() => runtime?.dispose());

/** A version of its own for each number: another tokenizer file, so that it has to be loaded. */
async function body(number: number): Promise<string> {
  const bucket = await runtime.getR2Bucket("MODELS");
  const files = [];
  for (const [name, bytes] of [
    ["model.onnx", model],
    ["tokenizer.json", Buffer.concat([tokenizer, Buffer.from(" ".repeat(number))])],
  ] as const) {
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    await bucket.put(`${sha256}/${name}`, bytes);
    files.push({ name, key: `${sha256}/${name}`, sha256, bytes: bytes.byteLength });
  }
  return JSON.stringify({ files, texts: Array(40).fill("the quick brown fox"), max_tokens: 24 });
}

function ask(text: string, leaveAfterMs: number | null): Promise<number | null> {
  return new Promise((resolve) => {
    const asked = request(new URL("/embed", url), { method: "POST" }, (answer) => {
      answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
    });
    asked.on("error", () => resolve(null));
    // Who leaves in the middle of an answer hears neither its end nor an error.
    asked.on("close", () => resolve(null));
    asked.end(text);
    if (leaveAfterMs !== null) setTimeout(() => asked.destroy(), leaveAfterMs);
    else setTimeout(() => resolve(-1), PATIENCE_MS);
  });
}

it("answers the next however many leave while a model is loaded for them, or while they wait", async () => {
  for (let number = 1; number <= MODELS; number++) {
    const text = await body(number);
    const leaving = [0, 1, 2, 3, 5, 8].map((ms) => ask(text, ms + (number % 4)));
    const stays = ask(text, null);
    await Promise.all(leaving);
    expect(await stays).toBe(200);
  }
  const health = (await (await runtime.dispatchFetch("http://inference/health")).json()) as { waiting: number };
  expect(health.waiting).toBe(0);
}, 60_000);
