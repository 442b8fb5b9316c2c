import { describe, expect, it } from "vitest";
import { errorOf, Stage } from "../../test/support/stage.ts";

const ON = { conversations: { enabled: true } };
const sent = (stage: Stage) =>
  (stage.ai.lastRun.inputs.messages as { content: string }[]).map(({ content }) => content);
const say = (stage: Stage, conversation: string, content: string) =>
  stage.chat({ conversation, messages: [{ role: "user", content }] });
const remove = (stage: Stage, path: string, headers = {}) => stage.ask({ path, method: "DELETE", headers });

describe("/v1/conversations", () => {
  it.each([undefined, {}, { metadata: { a: "b" }, items: [] }])("makes an id, asked with %j", async (body) => {
    const stage = new Stage(ON);
    const response = await stage.ask({ path: "/v1/conversations", method: "POST", body });
    expect(await response.json()).toEqual({
      id: expect.stringMatching(/^conv_/),
      object: "conversation",
      created_at: expect.any(Number),
      metadata: body?.metadata ?? {},
    });
  });

  it("forgets a conversation, of the caller's own alone", async () => {
    const [stage, other] = [new Stage(ON), new Stage(ON, { API_KEY: "other-key" })];
    await say(stage, "to-forget", "one");
    await remove(other, "/v1/conversations/to-forget", { authorization: "Bearer other-key" });
    await say(stage, "to-forget", "two");
    expect(sent(stage)).toEqual(["one", "Hello from the model.", "two"]);
    const response = await remove(stage, "/v1/conversations/to-forget");
    expect(await response.json()).toEqual({ id: "to-forget", object: "conversation.deleted", deleted: true });
    await say(stage, "to-forget", "three");
    expect(sent(stage)).toEqual(["three"]);
  });

  it("forgets a response, and not what went on from it", async () => {
    const stage = new Stage(ON);
    const respond = async (body: object) => {
      const answer = await stage.ask({ path: "/v1/responses", body: { model: "chat@1", input: "Hi", ...body } });
      return (await answer.json()) as { id: string; error: { code: string } };
    };
    const first = await respond({ input: "one" });
    const second = await respond({ input: "two", previous_response_id: first.id });
    const response = await remove(stage, `/v1/responses/${first.id}`);
    expect(await response.json()).toEqual({ id: first.id, object: "response", deleted: true });
    expect((await respond({ previous_response_id: first.id })).error.code).toBe("previous_response_not_found");
    await respond({ input: "three", previous_response_id: second.id });
    expect(sent(stage)).toEqual(["one", "Hello from the model.", "two", "Hello from the model.", "three"]);
  });

  it.each([
    ["POST", "/v1/conversations", { items: [{}] }, "items"],
    ["POST", "/v1/conversations", "[]", null],
    ["DELETE", "/v1/conversations/a%20b", undefined, "conversation"],
    ["DELETE", "/v1/responses/a%2fb", undefined, "response_id"],
  ])("refuses %s %s with %j", async (method, path, body, param) => {
    const response = await new Stage(ON).ask({ path, method, body });
    expect([response.status, (await errorOf(response)).param]).toEqual([400, param]);
  });

  it("is closed on a stage that keeps no conversations, and to who has no key", async () => {
    const stage = new Stage();
    const made = await stage.ask({ path: "/v1/conversations", method: "POST", body: {} });
    expect([made.status, (await errorOf(made)).param]).toEqual([400, "conversation"]);
    expect((await remove(stage, "/v1/conversations/c")).status).toBe(400);
    expect((await remove(new Stage(ON), "/v1/conversations/c", { authorization: "Bearer wrong" })).status).toBe(401);
  });

  it.each([
    ["GET", "/v1/conversations", "POST, OPTIONS"],
    ["GET", "/v1/conversations/c", "DELETE, OPTIONS"],
    ["GET", "/v1/responses/resp_1", "DELETE, OPTIONS"],
  ])("answers 405 to %s %s", async (method, path, allow) => {
    const response = await new Stage(ON).ask({ path, method });
    expect([response.status, response.headers.get("allow")]).toEqual([405, allow]);
  });
});
