import { describe, expect, it } from "vitest";
import contract from "../../../tests/contract/edge.json";
import { bytesOf, INJECTION, INTENT, ROUTER } from "../../test/support/models.ts";
import { newLinear } from "./linear.ts";
import { readLinear } from "./onnx.ts";

const MODELS = { small: bytesOf(contract.small.onnx), router: ROUTER, injection: INJECTION, intent: INTENT };

describe.each(["small", "router", "injection", "intent"] as const)("the model %s", (name) => {
  const linear = readLinear(MODELS[name]);

  it("has the labels of its file", () => {
    expect(linear.labels).toEqual(contract[name].labels);
  });

  it.each(contract.texts.map((text, at) => [text, contract[name].rows[at] as number[]] as const))(
    "answers as Python does: %j",
    (text, row) => {
      const found = linear.probabilities(text);
      const digits = name === "small" ? 8 : 5;
      for (const [at, share] of row.entries()) expect(found[at]).toBeCloseTo(share, digits);
    },
  );

  it("answers the same again, whatever was asked between", () => {
    const first = linear.probabilities("Prove it");
    linear.probabilities("something else");
    expect(linear.probabilities("Prove it")).toEqual(first);
  });
});

describe("readLinear", () => {
  it.each([
    ["no file", new Uint8Array()],
    ["a file cut short", ROUTER.slice(0, 20_000)],
    ["a file that ends within a number", Uint8Array.of(0x80)],
    ["other bytes", Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8)],
  ])("ox_03 throws for %s", (_, bytes) => {
    expect(() => readLinear(bytes)).toThrow(/cut short|not a linear one/);
  });

  it("throws for a model whose weights don't fit its labels", () => {
    const tensors = { weights: new Int8Array(10), bias: new Float32Array(3) };
    expect(() => newLinear(tensors, { labels: "a,b,c" })).toThrow("not a linear one");
    expect(() => newLinear({ weights: new Int8Array(9), bias: new Float32Array(2) }, { labels: "a,b,c" })).toThrow();
  });
});
