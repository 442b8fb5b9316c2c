import { describe, expect, it } from "vitest";
import { errorOf, Stage } from "../../test/support/stage.ts";

const get = (path: string) => new Stage().ask({ path });

describe("GET /v1/models", () => {
  it("lists every model in OpenAI's shape", async () => {
    expect(await (await get("/v1/models")).json()).toEqual({
      object: "list",
      data: [
        { id: "chat", object: "model", created: 0, owned_by: "sluiceway", task: "chat", versions: [1, 2] },
        { id: "intent", object: "model", created: 0, owned_by: "sluiceway", task: "classify", versions: [1] },
      ],
    });
  });

  it.each(["chat", "chat@2", "chat%402"])("describes %s", async (id) => {
    expect(await (await get(`/v1/models/${id}`)).json()).toMatchObject({ id: decodeURIComponent(id), object: "model" });
  });

  it.each(["nope", "chat@3", "__proto__"])("answers 404 for %s", async (id) => {
    const response = await get(`/v1/models/${id}`);
    expect([response.status, (await errorOf(response)).code]).toEqual([404, "model_not_found"]);
  });
});
