import type { Answer, Usage } from "../backends/backend.ts";
import { backendOf } from "../backends/choose.ts";
import { costOf, tokensIn } from "../budget/cost.ts";
import { usdOf } from "../budget/money.ts";
import { dayOf } from "../budget/periods.ts";
import { Collector } from "../chat/collect.ts";
import { Leg } from "../chat/leg.ts";
import type { ChatRequest } from "../chat/request.ts";
import { ApiError } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";
import { wouldGuard } from "../guard/answer.ts";
import type { Outcome } from "../rollout/types.ts";
import { affinityOf } from "../routing/affinity.ts";
import { refOf } from "../routing/find.ts";
import type { Route } from "../routing/route.ts";
import { estimateUsage, textOf } from "../tokens/estimate.ts";
import type { Evidence } from "./evidence.ts";
import { judge } from "./judge.ts";
import { likeness } from "./likeness.ts";
import { clientOf } from "./outcome.ts";
import { Places } from "./places.ts";

/** After the answer, the platform gives a request half a minute more. */
const PATIENCE_MS = 25_000;
/** At once in an isolate: what nobody waits for must not crowd out what somebody does. */
const MOST = 20;
/** By whom its cost is booked. */
const PAYER = "shadow";

/** A shadow whose request was ended by the platform tells nobody: its place is free again after this. */
const LONGEST_MS = 60_000;

const places = new Places(MOST, LONGEST_MS);

/** What the other version did. `firstMs` null: it was not streamed, or never began. */
interface Shadow {
  readonly answer: Answer;
  readonly firstMs: number | null;
}

/**
 * Asks another version what was just asked of this one, where a rollout wants that of a share of requests. Nobody gets
 * its answer; it is compared with the one that was given, and its cost is the stage's.
 */
export function mirror(c: GatewayContext, evidence: Evidence): void {
  const { table, config, ambient, accounts } = c.get("gateway");
  const { model, version, request } = evidence;
  const wanted = table.mirrorOf(model);
  if (wanted === null || request === null || wanted.version === version) return;
  if (ambient.random() * 100 >= wanted.share) return;
  // Whoever pays has nothing left.
  if ((accounts.of("stage").refused?.until ?? 0) > ambient.now()) return;
  const spec = config.models[model]?.versions[String(wanted.version)];
  if (spec === undefined) return;
  const route: Route = { model, version: wanted.version, variant: "candidate", spec };
  const leave = places.take(ambient.now());
  if (leave === null) return;
  const work = ask(c, evidence, request, route).finally(leave);
  try {
    c.executionCtx.waitUntil(work);
  } catch {
    // The request is over, and what it began ends with it.
  }
}

async function ask(c: GatewayContext, evidence: Evidence, request: ChatRequest, route: Route): Promise<void> {
  const { outcomes, ambient } = c.get("gateway");
  const record = c.get("record");
  const at = ambient.now();
  const head = {
    ...{ model: route.model, version: route.version, client: clientOf(record, evidence.user), at },
    ...({ part: "whole", failed: false, first_token_ms: null, tokens: null, cost_usd: null } as const),
    ...({ json: null, empty: false, refusal: false, guard: false, source: "shadow" } as const),
  };
  let outcome: Outcome;
  let alike: number | null = null;
  try {
    const leg = new Leg(request, route);
    const { answer, firstMs } = await answerOf(c, evidence, leg, route);
    const usage = answer.usage ?? estimateUsage(leg.messages, answer);
    outcome = {
      ...{ ...head, first_token_ms: firstMs, total_ms: ambient.now() - at, tokens: usage.completion_tokens },
      ...{ cost_usd: book(c, leg, route, usage), ...judge(answer, request.parameters) },
      guard: wouldGuard(c, answer),
    };
    alike = evidence.said === null ? null : likeness(saidIn(evidence.said.answer), saidIn(answer));
  } catch (error) {
    const total_ms = ambient.now() - at;
    // It was not waited for any longer: too slow, and nothing else is known of it.
    const late = !(error instanceof ApiError);
    outcome = late ? { ...head, total_ms, part: "late" } : { ...head, total_ms, failed: true };
  }
  outcomes.add(outcome);
  outcomes.tell(c.env, (work) => c.executionCtx.waitUntil(work));
  const { part, failed, total_ms, cost_usd } = outcome;
  const by = { model: refOf(route), compared_with: `${evidence.model}@${evidence.version}` };
  const line = {
    event: "shadow",
    level: "info",
    id: record.id,
    ...by,
    part,
    failed,
    total_ms,
    cost_usd,
    likeness: alike,
  };
  ambient.log(JSON.stringify(line));
}

/** In the way in which it was asked for, so that times can be compared. */
async function answerOf(c: GatewayContext, { user }: Evidence, leg: Leg, { spec }: Route): Promise<Shadow> {
  const { config, ambient } = c.get("gateway");
  const record = c.get("record");
  const backend = backendOf(spec, c.env);
  const { messages, parameters } = leg;
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const session = affinityOf(record.tenant, user);
  const call = { version: spec, messages, parameters, session, gateway: config.gateway, signal };
  if (!record.streamed) return { answer: await backend.complete(call), firstMs: null };
  const began = ambient.now();
  const collector = new Collector();
  let firstMs: number | null = null;
  for await (const piece of await backend.stream(call)) {
    firstMs ??= ambient.now() - began;
    collector.add(piece);
  }
  return { answer: collector.answer(), firstMs };
}

/** Books what it cost with the stage, by a name of its own: no caller has asked for it. */
function book(c: GatewayContext, leg: Leg, { spec }: Route, usage: Usage): number {
  const { accounts, ambient } = c.get("gateway");
  const tokens = tokensIn(usage, leg);
  const nanos = costOf(spec.price, tokens);
  const stage = accounts.of("stage");
  const { prompt, completion } = tokens;
  const day = dayOf(ambient.now());
  stage.book({ day, key: PAYER, team: "", model: accounts.nameOf(spec), requests: 1, nanos, prompt, completion });
  accounts.touch(stage, c.env, (work) => c.executionCtx.waitUntil(work));
  return usdOf(nanos);
}

function saidIn({ choices }: Answer): string {
  return choices.map(({ message }) => textOf(message.content)).join("\n");
}
