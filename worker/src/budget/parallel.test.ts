import { createExecutionContext, env, runInDurableObject, waitOnExecutionContext } from "cloudflare:test";
import { describe, expect, it } from "vitest";
import { bookedIn, keyFor, pricedConfig, settledBy } from "../../test/support/budget.ts";
import { type AiRun, answerWith, refuse, stall } from "../../test/support/fake-ai.ts";
import { some } from "../../test/support/some.ts";
import { chatBody, errorOf, Stage } from "../../test/support/stage.ts";
import type { GatewayEnv } from "../env.ts";
import type { Ledger } from "./ledger.ts";

/** Four words of a thousandth of a dollar, and a prompt of seven millionths. */
const ANSWER = "one two three four";
const EACH = 4_007_000;
const CALLS = 100;

/** One call to each backend, and none that is cut off: every refusal is the budget's. */
const RESILIENCE = { attempts: 1, breaker: { failures: 10_000 } };

type Json = Record<string, unknown>;

/** What a client does, and what becomes of its call: told to the fake model in the prompt. */
const KINDS = ["whole", "streamed", "leaves", "leaves-early", "falls-back", "fails"] as const;
type Kind = (typeof KINDS)[number];

/** Isolates of one stage: all they share is the platform's Durable Objects. */
function isolates(stage: string, count: number, changes: Json = {}): Stage[] {
  return Array.from({ length: count }, () => {
    const isolate = new Stage(pricedConfig(stage, { resilience: RESILIENCE, ...changes }));
    isolate.ai.replyWith(reply);
    return isolate;
  });
}

function reply(run: AiRun): Response | Promise<Response> {
  const kind = (run.inputs.messages as { content: string }[])[0]?.content as Kind;
  const large = run.model === "@cf/a/large";
  if (kind === "fails" || (kind === "falls-back" && large)) return refuse(500, 1000, "broken")(run);
  if (kind === "leaves") return stall(["one ", "two "]);
  if (kind === "leaves-early") return new Promise<never>(() => {});
  return answerWith(ANSWER)(run);
}

/** One client, from its request until all that it left running has ended; gives the status that it saw, 0 for none. */
async function call(isolate: Stage, kind: Kind, headers: Record<string, string>): Promise<number> {
  const ctx = createExecutionContext();
  const leaves = new AbortController();
  const stream = kind === "streamed" || kind === "leaves";
  const body = chatBody({ messages: [{ role: "user", content: kind }], max_tokens: 4, stream });
  if (kind === "leaves-early") setTimeout(() => leaves.abort(), 30);
  let status = 0;
  try {
    const response = await isolate.send({ path: "/v1/chat/completions", body, headers, signal: leaves.signal }, ctx);
    status = response.status;
    if (kind === "leaves" && status === 200) {
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      await reader.read();
      await reader.cancel();
    } else await response.text();
  } catch (error) {
    if (!leaves.signal.aborted) throw error;
  }
  await waitOnExecutionContext(ctx);
  return status;
}

/** What a ledger still holds for requests, in nanodollars. */
async function heldIn(name: string): Promise<number> {
  const stub = (env as unknown as GatewayEnv).LEDGER.getByName(name);
  return runInDurableObject(stub, (_: Ledger, { storage: { sql } }) => {
    const query = "SELECT (SELECT TOTAL(nanos) FROM holds) + (SELECT TOTAL(busy) FROM isolates) AS held";
    return Number(sql.exec(query).one().held);
  });
}

describe("a budget under parallel calls", () => {
  it("gw_16 admits ten of a hundred calls on a key with budget for ten, and books what they came to", async () => {
    const stage = "parallel-ten";
    const { id, headers } = await keyFor(stage, { budgets: [budget(10.4 * EACH)] });
    const stages = isolates(stage, 4);
    const asked = Array.from({ length: CALLS }, (_, i) => ({ isolate: stages[i % 4] as Stage, at: i }));
    const messages = [{ role: "user", content: "whole" }];
    const answers = await Promise.all(asked.map(({ isolate }) => isolate.chat({ messages, max_tokens: 4 }, headers)));
    const admitted = stages.reduce((sum, { ai }) => sum + ai.runs.length, 0);
    expect(admitted).toBe(10);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    const refused = answers.filter(({ status }) => status === 402);
    expect(refused).toHaveLength(90);
    expect(await errorOf(refused[0] as Response)).toMatchObject({
      ...{ type: "insufficient_quota", code: "budget_exceeded", request_id: expect.stringContaining("req-") },
    });
    expect(await bookedIn(`${stage}/key/${id}`)).toEqual({ nanos: 10 * EACH, requests: 10 });
    expect(settledBy(...stages)).toBe(10 * EACH);
    expect(await bookedIn(`${stage}/stage/`)).toEqual({ nanos: 10 * EACH, requests: 10 });
    expect(await heldIn(`${stage}/key/${id}`)).toBe(0);
  });

  it.each(
    some(
      [
        ["for ten", 10.4],
        ["for thirty", 30.4],
        ["in plenty, so that isolates have leases", 100_000],
      ] as const,
      2,
    ),
  )(
    "gw_16 equals the sum of settled costs among disconnects, failures and fallbacks, with budget %s",
    async (_, of) => {
      const stage = `parallel-mixed-${of}`;
      const { id, headers } = await keyFor(stage, { budgets: [budget(of * EACH)] });
      const { models } = pricedConfig(stage) as { models: { chat: object } };
      const chat = { ...models.chat, fallback: ["chat-small"] };
      const stages = isolates(stage, 4, { models: { ...models, chat } });
      const warm = of > CALLS ? await Promise.all(stages.map((isolate) => call(isolate, "whole", headers))) : [];
      const statuses = await Promise.all(
        Array.from({ length: CALLS }, (_, i) => call(stages[i % 4] as Stage, KINDS[i % KINDS.length] as Kind, headers)),
      );
      const spent = await bookedIn(`${stage}/key/${id}`);
      expect(spent.nanos).toBe(settledBy(...stages));
      expect(spent.nanos).toBeGreaterThan(0);
      expect(spent.nanos).toBeLessThanOrEqual(Math.min(of + 1, warm.length + CALLS) * EACH);
      expect(await bookedIn(`${stage}/stage/`)).toEqual(spent);
      expect(await heldIn(`${stage}/key/${id}`)).toBe(0);
      expect(stages.flatMap(({ requestLogs }) => requestLogs)).toHaveLength(warm.length + CALLS);
      if (of > CALLS) {
        const seen = (kind: Kind) => new Set(statuses.filter((_, i) => KINDS[i % KINDS.length] === kind));
        expect(KINDS.map((kind) => [...seen(kind)])).toEqual([[200], [200], [200], [499], [200], [502]]);
      } else expect(statuses).toContain(402);
    },
  );

  it("gw_16 keeps to one stage's budget over the keys of all", async () => {
    const stage = "parallel-stage";
    const stages = isolates(stage, 4, {
      budgets: { limits: [{ scope: "stage", period: "month", usd: (10.4 * EACH) / 1e9 }] },
    });
    const keys = await Promise.all(Array.from({ length: 10 }, () => keyFor(stage, {})));
    const statuses = await Promise.all(
      Array.from({ length: CALLS }, (_, i) => call(stages[i % 4] as Stage, "whole", keys[i % 10]?.headers ?? {})),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    expect(await bookedIn(`${stage}/stage/`)).toEqual({ nanos: 10 * EACH, requests: 10 });
  });

  it("gw_12 admits five of twenty parallel requests over two isolates to a key of five a minute", async () => {
    const stage = "parallel-minute";
    const { headers } = await keyFor(stage, { requestsPerMinute: 5 });
    const stages = isolates(stage, 2);
    const statuses = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        call(stages[i % 2] as Stage, "whole", { ...headers, "x-forwarded-for": `1.1.1.${i}` }),
      ),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(5);
    expect(statuses.filter((status) => status === 429)).toHaveLength(15);
  });
});

function budget(nanos: number) {
  return { scope: "key", period: "day", usd: nanos / 1e9, fall_to: null } as const;
}
