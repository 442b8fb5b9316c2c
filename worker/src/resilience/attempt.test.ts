import { describe, expect, it } from "vitest";
import { keyFor } from "../../test/support/budget.ts";
import { type AiRun, answerWith, refuse, stall } from "../../test/support/fake-ai.ts";
import { errorOf, eventsOf, Stage, stageConfig, textOfEvents } from "../../test/support/stage.ts";

type Json = Record<string, unknown>;
type Reply = (run: AiRun) => Response | Promise<Response>;

const good = answerWith("Here you are.");
const oops = refuse(500, 3043, "oops");
const limited = (seconds?: string) =>
  refuse(429, 3039, "slow down", seconds === undefined ? {} : { "retry-after": seconds });

/** A stage with `chat` and, unless told otherwise, `small` to stand in; `replies` are what `chat` says, the last for good. */
function stageOf(replies: Reply[], resilience: Json = {}, fallback: string[] = ["small"], timeouts: Json = {}) {
  const version = (id: string) => ({ "1": { backend: "workers-ai", id } });
  const models = {
    chat: { task: "chat", versions: version("@cf/chat"), split: [[1, 100]], fallback },
    small: { task: "chat", versions: version("@cf/small"), split: [[1, 100]] },
  };
  const stage = new Stage({ models, resilience, timeouts });
  stage.chance = () => 0;
  const rest = [...replies];
  stage.ai.replyWith((run) => {
    if (run.model === "@cf/small") return answerWith("From the small one.")(run);
    return ((rest.length > 1 ? rest.shift() : rest[0]) as Reply)(run);
  });
  const calls = () => stage.ai.runs.filter((run) => run.model === "@cf/chat").length;
  const by = async (body: Json = {}) => (await stage.chat({ model: "chat", ...body })).headers.get("x-sluiceway-model");
  return { stage, calls, by };
}

/** Which is over first: a timer that was set just before, or the answer. */
function firstOf(ms: number, answer: Promise<Response>): Promise<string> {
  return Promise.race([scheduler.wait(ms).then(() => "the timer"), answer.then(() => "the answer")]);
}

describe("retries", () => {
  it.each([false, true])("mend a failure that passes (stream: %s), and the record counts them", async (stream) => {
    const { stage, calls } = stageOf([oops, oops, good]);
    const response = await stage.chat({ model: "chat", stream });
    expect(response.status).toBe(200);
    expect(response.headers.get("x-sluiceway-fallback")).toBeNull();
    if (stream) expect(textOfEvents(await eventsOf(response))).toBe("Here you are.");
    expect(calls()).toBe(3);
    expect(stage.requestLogs).toMatchObject([{ error: null, retries: 2, fallback: null }]);
  });

  it.each([false, true])(
    "share one version's time: a slow failure isn't tried at full length again (stream: %s)",
    async (stream) => {
      const slow: Reply = async (run) => {
        await scheduler.wait(1_000);
        return oops(run);
      };
      const { stage, calls } = stageOf([slow], { retry_budget: 1 }, [], { first_token_ms: 1_700, answer_ms: 1_700 });
      const response = await stage.chat({ model: "chat", stream });
      expect([response.status, (await errorOf(response)).code]).toEqual([504, "upstream_timeout"]);
      expect(calls()).toBe(2);
      expect(stage.ai.lastRun.aborted).toBe(true);
    },
  );

  it("leave a stand-in the whole of its time", async () => {
    const { stage } = stageOf([() => new Promise(() => {})], {}, ["small"], { answer_ms: 500 });
    const small = answerWith("From the small one.");
    stage.ai.replyWith(async (run) => {
      if (run.model !== "@cf/small") return new Promise(() => {});
      await scheduler.wait(150);
      return small(run);
    });
    const response = await stage.chat({ model: "chat" });
    expect(response.headers.get("x-sluiceway-fallback")).toBe("small@1; reason=timeout");
  });

  it("are as many as the stage allows", async () => {
    const { calls, by } = stageOf([oops], { attempts: 5 });
    expect(await by()).toBe("small@1");
    expect(calls()).toBe(5);
  });

  it("wait for a random part of a bound that doubles", async () => {
    const { stage } = stageOf([oops, oops, good], { base_ms: 40, cap_ms: 60 });
    stage.chance = () => 0.99;
    // The two waits are 99 % of 40 and of 60 ms.
    expect(await firstOf(95, stage.chat({ model: "chat" }))).toBe("the timer");
  });

  it("are a share of the requests when all fail", async () => {
    const requests = 60;
    const { calls, by } = stageOf([oops], { retry_budget: 0.1, breaker: { failures: 1_000 } });
    for (let request = 0; request < requests; request++) expect(await by()).toBe("small@1");
    // A burst of 5, and a tenth of the requests.
    expect(calls()).toBeGreaterThan(requests + 5);
    expect(calls()).toBeLessThanOrEqual(requests + 5 + requests / 10);
  });

  it("end when the client leaves, and cost nothing then", async () => {
    const { stage, calls } = stageOf([oops], { base_ms: 5_000, cap_ms: 5_000 });
    stage.chance = () => 0.99;
    const client = new AbortController();
    const asked = { path: "/v1/chat/completions", body: { model: "chat", messages: [{ role: "user", content: "x" }] } };
    const answer = stage.send({ ...asked, signal: client.signal });
    await expect.poll(calls).toBe(1);
    client.abort();
    await answer.catch(() => {});
    await expect.poll(() => stage.requestLogs.length).toBe(1);
    expect(stage.requestLogs[0]).toMatchObject({ error: "client_disconnected", prompt_tokens: null });
    expect(calls()).toBe(1);
  });
});

describe("a rate limit", () => {
  it("is waited for when the backend names a short time", async () => {
    const { stage, calls } = stageOf([limited("1"), good], { queue_ms: 1_500 });
    const answer = stage.chat({ model: "chat" });
    expect(await firstOf(990, answer)).toBe("the timer");
    const response = await answer;
    expect(response.headers.get("x-sluiceway-model")).toBe("chat@1");
    expect(response.headers.get("server-timing")).toMatch(/wait;dur=\d{4}/);
    expect(calls()).toBe(2);
  });

  it("is not waited for when that takes longer than the stage lets requests wait", async () => {
    // Who waited would be ended by the test's own timeout.
    const { stage, calls } = stageOf([limited("90")], { queue_ms: 60_000 });
    const response = await stage.chat({ model: "chat" });
    expect(response.headers.get("x-sluiceway-fallback")).toBe("small@1; reason=rate_limited");
    expect(calls()).toBe(1);
  });

  it("is left alone by later requests until its time, when another can answer", async () => {
    const { stage, calls, by } = stageOf([limited("30"), good]);
    for (let request = 0; request < 5; request++) expect(await by()).toBe("small@1");
    expect(calls()).toBe(1);
    stage.ahead += 30_000;
    expect(await by()).toBe("chat@1");
  });

  it("is waited for by later requests when its time is near", async () => {
    const { stage, calls, by } = stageOf([limited("5"), good]);
    expect(await by()).toBe("small@1");
    stage.ahead += 4_000;
    const response = await stage.chat({ model: "chat" });
    expect(response.headers.get("x-sluiceway-model")).toBe("chat@1");
    expect(response.headers.get("server-timing")).toMatch(/wait;dur=[1-9]/);
    expect(calls()).toBe(2);
  });

  it("keeps nobody from asking when no other can answer", async () => {
    const { stage, calls } = stageOf([limited("30"), good], {}, []);
    const refused = await stage.chat({ model: "chat" });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "30"]);
    expect((await stage.chat({ model: "chat" })).status).toBe(200);
    expect(calls()).toBe(2);
  });

  it("keeps nobody from asking a version whose only stand-in is itself", async () => {
    const { stage, calls } = stageOf([limited("30"), good], {}, ["chat@1"]);
    expect((await stage.chat({ model: "chat" })).status).toBe(429);
    expect(stage.ai.lastRun.options).not.toHaveProperty("rejectIfBusy", true);
    expect((await stage.chat({ model: "chat" })).status).toBe(200);
    expect(calls()).toBe(2);
  });

  it("keeps nobody from asking whose request none of the others can take", async () => {
    const { stage, calls } = stageOf([limited("30"), good]);
    const { headers } = await keyFor(String(stageConfig().stage), { models: ["chat"] });
    const ask = () => stage.chat({ model: "chat" }, headers);
    expect([(await ask()).status, (await ask()).status]).toEqual([429, 200]);
    expect(calls()).toBe(2);
  });

  it("of a quota is told with the time after which it is asked again", async () => {
    const { stage } = stageOf([good]);
    stage.ai.replyWith(refuse(429, 3036, "used up"));
    const told = [];
    for (let i = 0; i < 2; i++) told.push((await stage.chat({ model: "chat" })).headers.get("retry-after"));
    expect(told).toEqual(["60", "60"]);
  });

  it("without a named time is tried again like any failure, and told with one", async () => {
    const { stage, calls } = stageOf([limited()], {}, []);
    const refused = await stage.chat({ model: "chat" });
    expect([refused.status, refused.headers.get("retry-after"), calls()]).toEqual([429, "10", 3]);
  });

  it("on a normal day leaves nobody without an answer, and asks little beyond the limit", async () => {
    const { stage, calls } = stageOf([good], { queue_ms: 2_000 });
    let windowAt = performance.now();
    let taken = 0;
    // Four a second, as the backend counts.
    stage.ai.replyWith((run) => {
      if (run.model === "@cf/small") return answerWith("From the small one.")(run);
      if (performance.now() - windowAt > 1_000) [windowAt, taken] = [performance.now(), 0];
      return (taken++ < 4 ? good : limited("1"))(run);
    });
    const responses = await Promise.all(Array.from({ length: 16 }, () => stage.chat({ model: "chat" })));
    expect(responses.map(({ status }) => status)).toEqual(Array(16).fill(200));
    const by = responses.map((response) => response.headers.get("x-sluiceway-model"));
    // The first four at once, and four of those who waited.
    expect(by.filter((model) => model === "chat@1").length).toBeGreaterThanOrEqual(8);
    expect(calls()).toBeLessThanOrEqual(16 + 12 + 8);
    for (const [index, response] of responses.entries()) {
      const told = response.headers.get("x-sluiceway-fallback");
      expect(told).toBe(by[index] === "chat@1" ? null : "small@1; reason=rate_limited");
    }
  });

  it("opens no circuit", async () => {
    const { stage, calls } = stageOf([limited("30")], { breaker: { failures: 2 } }, []);
    for (let request = 0; request < 10; request++) expect((await stage.chat({ model: "chat" })).status).toBe(429);
    expect(calls()).toBe(10);
  });
});

describe("the circuit", () => {
  const settings = { attempts: 1, breaker: { failures: 3, window_ms: 30_000, open_ms: 10_000 } };

  it("spares a backend that fails again and again, and tries it after a while", async () => {
    const { stage, calls, by } = stageOf([oops, oops, oops, good], settings);
    for (let request = 0; request < 3; request++) expect(await by()).toBe("small@1");
    const spared = await stage.chat({ model: "chat" });
    expect(spared.headers.get("x-sluiceway-fallback")).toBe("small@1; reason=circuit_open");
    expect(calls()).toBe(3);
    stage.ahead += 10_000;
    expect(await by()).toBe("chat@1");
    expect(await by()).toBe("chat@1");
    expect(calls()).toBe(5);
  });

  it("says when and why where no other can answer", async () => {
    const { stage, calls } = stageOf([oops], settings, []);
    for (let request = 0; request < 3; request++) expect((await stage.chat({ model: "chat" })).status).toBe(502);
    const refused = await stage.chat({ model: "chat" });
    expect([refused.status, refused.headers.get("retry-after"), calls()]).toEqual([503, "10", 3]);
    expect(await errorOf(refused)).toMatchObject({
      code: "backend_unavailable",
      message: expect.stringMatching(/asked again in 10 s \(last: upstream_error\)/),
    });
  });

  it("counts one request's retries once", async () => {
    const { calls, by } = stageOf([oops], { ...settings, attempts: 3 });
    for (let request = 0; request < 2; request++) await by();
    expect(calls()).toBe(6);
    await by();
    // The third request's first call opens it.
    expect(calls()).toBe(7);
  });

  it("counts streams that break off half-way, though each begins well", async () => {
    const { stage, calls, by } = stageOf([() => stall(["half "])], settings);
    stage.ai.replyWith((run) =>
      run.model === "@cf/small"
        ? good(run)
        : new Response('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'),
    );
    for (let request = 0; request < 3; request++) {
      expect((await eventsOf(await stage.chat({ model: "chat", stream: true }))).at(-1)).toHaveProperty("error");
    }
    expect(await by()).toBe("small@1");
    expect(calls()).toBe(3);
  });

  it("is one for all versions that use the same model at the same place", async () => {
    const version = (prompt: string) => ({ backend: "workers-ai", id: "@cf/chat", prompt });
    const models = { chat: { task: "chat", versions: { "1": version("a"), "2": version("b") }, split: [[1, 100]] } };
    const stage = new Stage({ models, resilience: settings });
    stage.ai.replyWith(oops);
    for (let request = 0; request < 3; request++) await stage.chat({ model: "chat@1" });
    expect((await stage.chat({ model: "chat@2" })).status).toBe(503);
    expect(stage.ai.runs).toHaveLength(3);
  });

  it("of an adapter that isn't there leaves the base and other adapters alone", async () => {
    const version = (lora?: string) => ({ backend: "workers-ai", id: "@cf/base-lora", ...(lora && { lora }) });
    const versions = { "1": version(), "2": version("there"), "3": version("lost") };
    const stage = new Stage({ models: { chat: { task: "chat", versions, split: [[1, 100]] } }, resilience: settings });
    const lost = refuse(404, 3037, "Finetune lost not found");
    stage.ai.replyWith((run) => (run.inputs.lora === "lost" ? lost(run) : good(run)));
    for (let request = 0; request < 3; request++) expect((await stage.chat({ model: "chat@3" })).status).toBe(502);
    expect((await stage.chat({ model: "chat@3" })).status).toBe(503);
    for (const model of ["chat@1", "chat@2"]) expect((await stage.chat({ model })).status).toBe(200);
  });

  it("is not opened by what clients do wrong", async () => {
    const { stage, calls } = stageOf([refuse(400, 5006, "bad input")], settings, []);
    for (let request = 0; request < 6; request++) expect((await stage.chat({ model: "chat" })).status).toBe(400);
    expect(calls()).toBe(6);
  });
});
