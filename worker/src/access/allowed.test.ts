import { describe, expect, it } from "vitest";
import { ApiError } from "../errors.ts";
import { assertModelAllowed, modelAllowed } from "./allowed.ts";

describe("models of a caller", () => {
  it.each([
    [null, "chat", true],
    [null, "anything@7", true],
    [["chat"], "chat", true],
    [["chat"], "chat@2", true],
    [["chat"], "chat-small", false],
    [["chat"], "Chat", false],
    [["chat@2"], "chat@2", true],
    [["chat@2"], "chat", false],
    [["chat@2"], "chat@1", false],
    [["chat"], "chat@2@2", false],
    [[], "chat", false],
    [["chat"], "", false],
  ])("%j on %j: %s", (models, model, allowed) => {
    expect(modelAllowed({ models }, model)).toBe(allowed);
  });

  it("are named in the refusal, cut where they are long", () => {
    let refusal: unknown;
    try {
      assertModelAllowed({ models: ["chat"] }, `x${"y".repeat(500)}`);
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(ApiError);
    expect(refusal).toMatchObject({ status: 403, code: "model_not_allowed", param: "model" });
    expect((refusal as ApiError).message.length).toBeLessThan(200);
    expect((refusal as ApiError).body("r").error.type).toBe("permission_error");
  });
});
