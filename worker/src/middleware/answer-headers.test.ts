import { describe, expect, it } from "vitest";
import { refuse } from "../../test/support/fake-ai.ts";
import { Stage } from "../../test/support/stage.ts";

describe("answer headers", () => {
  it("say who served a request", async () => {
    const { headers } = await new Stage().chat({ temperature: 0 });
    expect(headers.get("x-sluiceway-model")).toBe("chat@1");
    expect(headers.get("x-sluiceway-variant")).toBe("pinned");
    expect(headers.get("x-sluiceway-release")).toBe("r-0123456789ab");
    expect(headers.get("x-sluiceway-cache")).toBe("miss");
    expect(headers.get("server-timing")).toMatch(
      /^route;dur=[\d.]+, cache;dur=[\d.]+, budget;dur=[\d.]+, backend;dur=[\d.]+, total;dur=[\d.]+$/,
    );
  });

  it("say so on a failure after routing too", async () => {
    const stage = new Stage();
    stage.ai.replyWith(refuse(500, 3043, "Internal server error"));
    const response = await stage.chat();
    expect(response.status).toBe(502);
    expect(response.headers.get("x-sluiceway-model")).toBe("chat@1");
  });

  it("name no model where none was chosen", async () => {
    const { headers } = await new Stage().ask({ path: "/healthz" });
    expect(headers.has("x-sluiceway-model")).toBe(false);
    expect(headers.get("x-sluiceway-release")).toBe("r-0123456789ab");
  });
});
