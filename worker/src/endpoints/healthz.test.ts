import { expect, it } from "vitest";
import { Stage } from "../../test/support/stage.ts";

it("says that the gateway runs, without key and without asking a model", async () => {
  const stage = new Stage();
  const response = await stage.ask({ path: "/healthz", headers: { authorization: "" } });
  expect(await response.json()).toEqual({ status: "ok", release: "r-0123456789ab" });
  expect(stage.ai.runs).toHaveLength(0);
});
