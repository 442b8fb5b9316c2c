import { describe, expect, it } from "vitest";
import { embedCall, KITS } from "../../test/support/backend-kits.ts";

describe.each(KITS)("%s", (_, make) => {
  it("turns texts into vectors in their order, with the tokens read", async () => {
    const kit = make();
    kit.replyWith(() => kit.vectors([[1, 0], [0, 1]], 5)); // biome-ignore format: two short vectors
    const usage = { prompt_tokens: 5, completion_tokens: 0, total_tokens: 5 };
    expect(await kit.backend.embed(embedCall(kit))).toEqual({ vectors: [[1, 0], [0, 1]], usage }); // biome-ignore format: as above
    kit.replyWith(() => kit.vectors([[1, 0], [0, 1]], null)); // biome-ignore format: as above
    expect((await kit.backend.embed(embedCall(kit, { dimensions: 2 }))).usage).toBeNull();
  });

  it("says how long its vectors are to who wants others", async () => {
    const kit = make();
    kit.replyWith(() => kit.vectors([[1, 0, 0], [0, 1, 0]], 5)); // biome-ignore format: as above
    await expect(kit.backend.embed(embedCall(kit, { dimensions: 2 }))).rejects.toMatchObject({
      status: 400,
      param: "dimensions",
      message: "This model's vectors have 3 numbers, not 2.",
    });
  });

  it.each([
    ["too few", [[1, 0]]],
    ["too many", [[1], [1], [1]]],
    ["of different lengths", [[1, 0], [1]]],
    ["empty", [[], []]],
    ["not numbers", [["a"], [null]] as unknown as number[][]],
  ])("calls vectors that are %s a failure of the backend", async (_, vectors) => {
    const kit = make();
    kit.replyWith(() => kit.vectors(vectors, 5));
    await expect(kit.backend.embed(embedCall(kit))).rejects.toMatchObject({ status: 502, code: "upstream_broken" });
  });
});
