import { describe, expect, it } from "vitest";
import { stageConfig } from "../../test/support/stage.ts";
import { parseConfig, type Split } from "../config.ts";
import { defaultModel, parseModel, routeTo } from "./route.ts";

const config = parseConfig(JSON.stringify(stageConfig()));
const live = (split: Split) => async () => split;

describe("routeTo", () => {
  it("follows the live split, not the declared one", async () => {
    const route = await routeTo(config, live([[2, 100]]), "chat", "anyone");
    expect(route).toMatchObject({ model: "chat", version: 2, variant: "stable" });
  });

  it("calls a version that is not first in the split a candidate", async () => {
    expect(
      (
        await routeTo(
          config,
          live([
            [1, 0],
            [2, 100],
          ]),
          "chat",
          "u",
        )
      ).variant,
    ).toBe("candidate");
  });

  it("serves a pinned version whatever the split", async () => {
    const route = await routeTo(config, live([[1, 100]]), "chat@2", "u");
    expect(route).toMatchObject({ version: 2, variant: "pinned" });
  });

  it.each(["nope", "chat@3", "chat@", "chat@0", "chat@1@2", "chat@01", "__proto__", "constructor", "chat@2 "])(
    "answers 404 for the model %j",
    async (wanted) => {
      const asked = async () => routeTo(config, live([[1, 100]]), wanted, "u");
      await expect(asked()).rejects.toMatchObject({
        status: 404,
        code: "model_not_found",
        param: "model",
      });
    },
  );
});

describe("parseModel", () => {
  it("splits off the version", () => {
    expect(parseModel("chat@2")).toEqual({ name: "chat", version: 2 });
    expect(parseModel("chat")).toEqual({ name: "chat", version: null });
  });
});

describe("defaultModel", () => {
  it("is the one marked default, else the first chat model, else none", () => {
    const unmarked = structuredClone(config);
    for (const model of Object.values(unmarked.models)) model.default = false;
    expect(defaultModel(config)).toBe("chat");
    expect(defaultModel(unmarked)).toBe("chat");
    delete unmarked.models.chat;
    expect(defaultModel(unmarked)).toBeNull();
  });
});
