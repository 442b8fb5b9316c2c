import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { WordPiece } from "../src/wordpiece.ts";

const folder = new URL("../../tests/contract/embedder/", import.meta.url);
const text = readFileSync(new URL("tokenizer.json", folder), "utf8");
const { limit, cases } = JSON.parse(readFileSync(new URL("cases.json", folder), "utf8")) as {
  limit: number;
  cases: { text: string; ids: number[] }[];
};

describe("BERT's tokenizer", () => {
  const words = new WordPiece(text);

  it.each(cases)("gives the ids of the tokenizers library: $text", ({ text, ids }) => {
    expect(words.encode(text, limit)).toEqual(ids);
  });

  it("never gives more than the limit, and always both ends", () => {
    const [first, last] = [words.encode("", 3)[0], words.encode("", 3).at(-1)];
    for (const { text } of cases) {
      for (const most of [3, 4, 7]) {
        const ids = words.encode(text, most);
        expect(ids.length).toBeLessThanOrEqual(most);
        expect([ids[0], ids.at(-1)]).toEqual([first, last]);
      }
    }
  });

  it.each([
    ["not json", "{"],
    ["another kind of model", text.replace('"WordPiece"', '"BPE"')],
    ["another normaliser", text.replace('"BertNormalizer"', '"NFC"')],
    ["no end token", text.replaceAll("[SEP]", "[END]")],
  ])("refuses a file that it would read wrongly: %s", (_, document) => {
    expect(() => new WordPiece(document)).toThrow("the tokenizer can't be used");
  });
});
