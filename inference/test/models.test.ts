import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { FileRef, Parts } from "../src/artifact.ts";
import { Models } from "../src/models.ts";

const tokenizer = readFileSync(new URL("../../tests/contract/embedder/tokenizer.json", import.meta.url));

/** A bucket in memory, and an onnxruntime that notes what it opens and lets go. */
class Place {
  readonly objects = new Map<string, Uint8Array>();
  readonly opened: number[] = [];
  readonly released: number[] = [];
  heap = 0;

  put(name: string, bytes: Uint8Array): FileRef {
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const key = `${sha256}/${name}`;
    this.objects.set(key, bytes);
    return { name, key, sha256, bytes: bytes.byteLength };
  }

  /** A model of so many bytes, half of them beside the graph. */
  model(mark: number, bytes: number): Parts {
    const half = new Uint8Array(bytes / 2).fill(mark);
    return {
      graph: this.put("model.onnx", half),
      weights: [
        this.put(
          "model.onnx.data",
          half.map((byte) => byte + 100),
        ),
      ],
      tokenizer: this.put("tokenizer.json", tokenizer),
    };
  }

  models(limits: { heap: number; models: number }): Models {
    const bucket = {
      get: async (key: string) => {
        const bytes = this.objects.get(key);
        return bytes === undefined
          ? null
          : { size: bytes.byteLength, arrayBuffer: async () => Uint8Array.from(bytes).buffer };
      },
    };
    const runtime = {
      open: async (graph: Uint8Array, weights: ReadonlyMap<string, Uint8Array>) => {
        const mark = graph[0] as number;
        expect(weights.get("model.onnx.data")?.[0]).toBe(mark + 100);
        this.opened.push(mark);
        return { release: async () => void this.released.push(mark) };
      },
      heapBytes: () => this.heap,
    };
    return new Models(bucket as never, runtime as never, limits);
  }
}

describe("the models of an isolate", () => {
  it("keeps those that fit together, and opens each once", async () => {
    const place = new Place();
    const models = place.models({ heap: 1_000, models: 100 });
    const [one, two] = [place.model(1, 40), place.model(2, 40)];
    for (let time = 0; time < 3; time++) await models.get(one);
    await models.get(two);
    await models.get(one);
    expect([place.opened, place.released, models.count]).toEqual([[1, 2], [], 2]);
  });

  it("lets the longest unused go for one that would not fit beside it", async () => {
    const place = new Place();
    const models = place.models({ heap: 1_000, models: 100 });
    const [one, two, three] = [place.model(1, 40), place.model(2, 40), place.model(3, 40)];
    await models.get(one);
    await models.get(two);
    await models.get(one);
    await models.get(three);
    expect([place.opened, place.released, models.count]).toEqual([[1, 2, 3], [2], 2]);
  });

  it("lets others go when the heap has grown, however small they are", async () => {
    const place = new Place();
    const models = place.models({ heap: 100, models: 100 });
    await models.get(place.model(1, 10));
    place.heap = 95;
    await models.get(place.model(2, 10));
    expect([place.released, models.count]).toEqual([[1], 1]);
  });

  it("keeps nothing of one that failed, and finds it once it is there", async () => {
    const place = new Place();
    const models = place.models({ heap: 1_000, models: 100 });
    const lost = place.model(1, 60);
    const graph = place.objects.get(lost.graph.key) as Uint8Array;
    place.objects.delete(lost.graph.key);
    await expect(models.get(lost)).rejects.toMatchObject({ code: "artifact_not_found" });
    await models.get(place.model(2, 60));
    expect(models.count).toBe(1);
    place.objects.set(lost.graph.key, graph);
    await models.get(lost);
    expect([place.opened, place.released]).toEqual([[2, 1], [2]]);
  });

  it("refuses one that is too large by itself and lets nothing go for it", async () => {
    const place = new Place();
    const models = place.models({ heap: 1_000, models: 100 });
    await models.get(place.model(1, 60));
    await expect(models.get(place.model(2, 102))).rejects.toMatchObject({ code: "model_too_large" });
    expect([place.released, models.count]).toEqual([[], 1]);
  });
});
