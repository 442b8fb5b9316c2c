import type { Usage } from "../backends/backend.ts";
import { type FieldName, isOfMessages, named } from "../chat/field-names.ts";
import { parseJsonObject } from "../chat/json-body.ts";
import type { ChatRequest } from "../chat/request.ts";
import { type ServedWhole, serveStream, serveWhole } from "../chat/serve.ts";
import { streamResponse } from "../chat/stream-body.ts";
import type { GatewayContext } from "../gateway.ts";
import { routed } from "../routing/hybrid.ts";
import { readCompletions } from "./completions-request.ts";
import { TextCompletionWriter, textCompletionBody } from "./completions-shapes.ts";
import { json } from "./json.ts";

/** `POST /v1/completions`: OpenAI's older API, answered by chat models; each prompt is a user's message. */
export async function completions(c: GatewayContext): Promise<Response> {
  const { max_tokens } = c.get("gateway").config.limits;
  const { prompts, requests, n, echo } = readCompletions(parseJsonObject(await c.get("readBody")()), max_tokens);
  const [request] = requests as [ChatRequest];
  if (request.stream) {
    const served = await named(fieldOf(null), async () => serveStream(c, await routed(c, request)));
    const format = new TextCompletionWriter(served.name, echo ? (prompts[0] ?? "") : "", request.includeUsage);
    return streamResponse(c, served, format);
  }
  const served = await serveEach(c, requests);
  const answers = served.map(({ answer }) => answer);
  const usage = served.map((one) => one.usage).reduce(sum);
  const [{ name }] = served as [ServedWhole];
  return json(c, textCompletionBody(name, answers, echo ? prompts : [], n, usage));
}

/** One after the other; the record holds the sum, also when a later one fails. */
async function serveEach(c: GatewayContext, requests: readonly ChatRequest[]): Promise<ServedWhole[]> {
  const record = c.get("record");
  const served: ServedWhole[] = [];
  let cost = 0;
  try {
    for (const [at, request] of requests.entries()) {
      cost += record.costUsd ?? 0;
      record.costUsd = null;
      const name = fieldOf(requests.length === 1 ? null : at);
      served.push(await named(name, async () => serveWhole(c, await routed(c, request))));
    }
  } finally {
    record.costUsd = cost + (record.costUsd ?? 0);
    if (served.length > 0) record.usage = served.map(({ usage }) => usage).reduce(sum);
  }
  return served;
}

/** What a chat's field is called here: `at` is which of several prompts was the message. */
function fieldOf(at: number | null): FieldName {
  const prompt = at === null ? "prompt" : `prompt[${at}]`;
  return (field) => (isOfMessages(field) ? prompt : field === "top_logprobs" ? "logprobs" : field);
}

function sum(left: Usage, right: Usage): Usage {
  return {
    prompt_tokens: left.prompt_tokens + right.prompt_tokens,
    completion_tokens: left.completion_tokens + right.completion_tokens,
    total_tokens: left.total_tokens + right.total_tokens,
    ...((left.estimated === true || right.estimated === true) && { estimated: true }),
  };
}
