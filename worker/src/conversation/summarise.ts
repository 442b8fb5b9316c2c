import { backendOf } from "../backends/choose.ts";
import { reserve } from "../budget/reserve.ts";
import { effective } from "../chat/parameters.ts";
import { sha256Hex } from "../digest.ts";
import type { GatewayContext } from "../gateway.ts";
import { findRoute } from "../routing/find.ts";
import { estimateTokens, estimateUsage, textOf } from "../tokens/estimate.ts";
import type { Fallen } from "./conversation.ts";
import { summaryRequest } from "./core.ts";
import type { ConversationPort } from "./port.ts";

const SUMMARY_TOKENS = 400;
const PATIENCE_MS = 30_000;

/** Has the turns that fell out of the window summed up, at the caller's cost, after the answer. */
export async function summarise(c: GatewayContext, object: ConversationPort, fallen: Fallen): Promise<void> {
  const { config } = c.get("gateway");
  const { summary_model } = config.conversations;
  if (summary_model === null) return;
  const { tenant } = c.get("record");
  const { spec } = await findRoute(c, summary_model, tenant);
  const messages = summaryRequest(fallen.summary, fallen.turns);
  const promptTokens = messages.reduce((sum, { content }) => sum + estimateTokens(textOf(content)), 0);
  const held = await reserve(c, { promptTokens, mostTokens: SUMMARY_TOKENS, spec });
  // Its budget is spent: what fell out of the window waits for a better day.
  if (held.insteadOf !== null) return held.release();
  try {
    const answer = await backendOf(spec, c.env).complete({
      version: spec,
      messages,
      parameters: effective(spec.parameters, { temperature: 0, max_tokens: SUMMARY_TOKENS }),
      session: (await sha256Hex(`${tenant}\nsummary`)).slice(0, 32),
      gateway: config.gateway,
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    held.settle(answer.usage ?? estimateUsage(messages, answer), spec);
    const text = textOf(answer.choices[0]?.message.content ?? null).trim();
    if (text !== "") await object.sumUp({ from: fallen.from, upTo: fallen.upTo }, text);
  } catch (error) {
    held.release();
    throw error;
  }
}
