import { describe, expect, it } from "vitest";
import { call, embedCall, KITS, later, type Refusal, streamed, textOf } from "../../test/support/backend-kits.ts";
import { delta, sse, streamOf } from "../../test/support/fake-ai.ts";

const WANTED: Record<Refusal, { status: number; code: string }> = {
  bad: { status: 400, code: "invalid_request" },
  long: { status: 400, code: "context_length_exceeded" },
  large: { status: 400, code: "context_length_exceeded" },
  many: { status: 429, code: "upstream_rate_limited" },
  unknown: { status: 502, code: "upstream_refused" },
  down: { status: 502, code: "upstream_error" },
  busy: { status: 503, code: "upstream_error" },
  slow: { status: 504, code: "upstream_timeout" },
};

describe.each(KITS)("%s", (_, make) => {
  it.each(Object.entries(WANTED))(
    "tells a refusal alike, asked whole, streamed or for vectors: %s",
    async (kind, wanted) => {
      const kit = make();
      const refused = kit.refusals[kind as Refusal];
      kit.replyWith(() => refused.clone());
      const asks = [
        () => kit.backend.complete(call(kit)),
        () => kit.backend.stream(call(kit)),
        () => kit.backend.embed(embedCall(kit)),
      ];
      for (const ask of asks) {
        const error = await ask().then(
          () => null,
          (thrown) => thrown,
        );
        expect(error).toMatchObject({ name: "ApiError", ...wanted, lasting: kind === "unknown" });
        expect(error.headers).toEqual(wanted.status === 429 ? later : {});
      }
    },
  );

  it.each(["", "soon", "-1", "1e3", "99999999", "7; x"])("names no time after a 429 that says %j", async (told) => {
    const kit = make();
    kit.replyWith(() => new Response("no", { status: 429, headers: { "retry-after": told } }));
    await expect(kit.backend.complete(call(kit))).rejects.toMatchObject({
      status: 429,
      headers: {},
    });
  });

  it("keeps a date that a 429 names", async () => {
    const kit = make();
    const date = "Wed, 21 Oct 2026 07:28:00 GMT";
    kit.replyWith(() => new Response("no", { status: 429, headers: { "retry-after": date } }));
    await expect(kit.backend.complete(call(kit))).rejects.toMatchObject({ headers: { "retry-after": date } });
  });

  it.each<[string, () => Response]>([
    ["broken JSON", () => new Response("{", { headers: { "content-type": "application/json" } })],
    ["no answer", () => Response.json({})],
    ["null", () => Response.json(null)],
    ["no choice", () => Response.json({ choices: [] })],
    ...[null, 5, "x", [], {}, { message: null }, { message: "x" }, { message: ["x"] }].map(
      (choice) =>
        [`the choice ${JSON.stringify(choice)}`, () => Response.json({ choices: [choice] })] as [
          string,
          () => Response,
        ],
    ),
    ["a page", () => new Response("<html>")],
    ["a body that breaks off", () => streamOf([new TextEncoder().encode('{"choices"')], new Error("reset"))],
  ])("calls %s a failure of the backend", async (_, reply) => {
    const kit = make();
    kit.replyWith(reply);
    await expect(kit.backend.complete(call(kit))).rejects.toMatchObject({ name: "ApiError", status: 502 });
    await expect(kit.backend.embed(embedCall(kit))).rejects.toMatchObject({ name: "ApiError", status: 502 });
  });

  it.each<[string, string[]]>([
    ["that just stops", [delta("a")]],
    ["with a broken event", [delta("a"), '{"choi']],
    ["with an error event", [delta("a"), '{"error":{"message":"x"}}', "[DONE]"]],
    ["with a list of errors", [delta("a"), '{"errors":[{"code":3040,"message":"x"}]}', "[DONE]"]],
    ["with an error object", [delta("a"), '{"object":"error","message":"x"}', "[DONE]"]],
    ["without any event", []],
    ["of nothing but its end", ["[DONE]"]],
    ["of null", ["null", "[DONE]"]],
    ...[null, 5, "x", [], { delta: "x" }, { delta: ["x"] }, { delta: 5 }].map(
      (choice) =>
        [`of the choice ${JSON.stringify(choice)}`, [JSON.stringify({ choices: [choice] }), "[DONE]"]] as [
          string,
          string[],
        ],
    ),
  ])("gw_03 calls a stream %s a failure, not a short answer", async (_, events) => {
    const kit = make();
    kit.replyWith(() => sse(events));
    await expect(streamed(kit)).rejects.toMatchObject({ name: "ApiError", status: 502 });
  });

  it("gw_03 calls a connection that is reset in a stream a failure", async () => {
    const kit = make();
    const bytes = new TextEncoder().encode(`data: ${delta("a")}\n\n`);
    kit.replyWith(() => streamOf([bytes], new Error("reset")));
    await expect(streamed(kit)).rejects.toMatchObject({ status: 502, code: "upstream_broken" });
  });

  it("gw_03 takes a stream for whole whose connection is reset behind its last word", async () => {
    const kit = make();
    const end = JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
    const bytes = new TextEncoder().encode(`data: ${delta("a")}\n\ndata: ${end}\n\n`);
    kit.replyWith(() => streamOf([bytes], new Error("reset")));
    const pieces = await streamed(kit);
    expect(textOf(pieces)).toBe("a");
    expect(pieces.at(-1)?.choices[0]?.finish_reason).toBe("stop");
    // Of two that were asked for, the other one is missing.
    kit.replyWith(() => streamOf([bytes], new Error("reset")));
    const two = streamed(kit, { parameters: { max_tokens: 9, n: 2 } });
    await expect(two).rejects.toMatchObject({ code: "upstream_broken" });
  });

  it("takes `error: null` and an empty finish reason for what they mean", async () => {
    const kit = make();
    const event = (content: string, finish_reason: string) =>
      JSON.stringify({ error: null, errors: [], choices: [{ index: 0, delta: { content }, finish_reason }] });
    kit.replyWith(() => sse([event("a", ""), event("b", "stop")]));
    const pieces = await streamed(kit);
    expect(textOf(pieces)).toBe("ab");
    expect(pieces[0]?.choices[0]?.finish_reason).toBeNull();
  });

  it("can't be reached: says so, and not what is inside", async () => {
    const kit = make();
    kit.replyWith(() => {
      throw new Error("connect ECONNREFUSED 10.0.0.7:8000");
    });
    for (const ask of [() => kit.backend.complete(call(kit)), () => kit.backend.embed(embedCall(kit))]) {
      const error = await ask().catch((thrown) => thrown);
      expect(error).toMatchObject({ status: 502, code: "upstream_unreachable" });
      expect(error.message).not.toContain("10.0.0.7");
    }
  });
});
