import type { Answer, Message } from "../backends/backend.ts";
import type { JsonObject } from "../chat/json-body.ts";
import type { ChatRequest } from "../chat/request.ts";
import { ApiError, badRequest } from "../errors.ts";
import type { GatewayContext } from "../gateway.ts";
import { guardPrompt } from "../guard/prompt.ts";
import { within } from "../patience.ts";
import type { Fallen, Keeping } from "./conversation.ts";
import { addition, type History, NO_HISTORY, recalled } from "./core.ts";
import type { ConversationPort } from "./port.ts";
import { roomBeside, truncated } from "./room.ts";
import { summarise } from "./summarise.ts";

/** A request within a conversation. */
export interface Talk {
  /** With the history before its own messages. */
  readonly request: ChatRequest;
  /** Keeps the request and its answer. Never throws: the client has its answer either way. Null: nothing is kept. */
  readonly keep: ((answer: Answer) => Promise<void>) | null;
}

const HEADER = "x-sluiceway-conversation";
/** No slash: it parts the tenant from the id in the object's name. */
const ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
const PATIENCE_MS = 5_000;

/** The conversation that a request belongs to, by its field or its header; null for none. Throws the 400. */
export function conversationId(c: GatewayContext, body: JsonObject): string | null {
  const wanted = nameOf(body.conversation ?? (c.req.header(HEADER) || null));
  return wanted === null ? null : checkedId(c, wanted, "conversation");
}

/** The id of a conversation or a kept response. Throws the 400 of one that can't be, or of a stage that keeps none. */
export function checkedId(c: GatewayContext, wanted: unknown, param: string): string {
  if (typeof wanted !== "string" || !ID.test(wanted)) {
    throw badRequest(
      `\`${param}\` must be 1 to 128 letters, digits and . _ : -, and begin with a letter or digit.`,
      param,
    );
  }
  if (!c.get("gateway").config.conversations.enabled) throw conversationsOff(param);
  return wanted;
}

/** OpenAI's client sends the id, or an object that has it. */
function nameOf(value: unknown): unknown {
  return typeof value === "object" && value !== null ? ((value as JsonObject).id ?? value) : value;
}

export function conversationsOff(param: string): ApiError {
  return badRequest(
    "Conversations are not kept on this stage (`conversations.enabled`); send the whole history in the request.",
    param,
  );
}

/**
 * Opens a conversation for a request: reads what was said before. `lead` goes before all of it, and is not kept.
 * Throws a 503 when the history can't be read.
 */
export async function openTalk(
  c: GatewayContext,
  id: string,
  given: ChatRequest,
  lead: readonly Message[] = [],
): Promise<Talk> {
  const asked = await checked(c, given, lead);
  const object = conversationOf(c, id);
  const request = withHistory(c, await read(object), asked, lead);
  const keep = (answer: Answer) =>
    safely(c, object, () => object.append(addition(asked.messages, answer), keepingOf(c)));
  return { request, keep };
}

/** As `openTalk`, but what was said before stays as it is, and goes on under another id: OpenAI's responses. */
export async function openBranch(
  c: GatewayContext,
  { from, to }: { from: string | null; to: string },
  given: ChatRequest,
  lead: readonly Message[],
): Promise<Talk> {
  const asked = await checked(c, given, lead);
  const history = from === null ? NO_HISTORY : await read(conversationOf(c, from));
  if (from !== null && history.turns.length === 0) throw previousNotFound(from);
  const object = conversationOf(c, to);
  const keep = (answer: Answer) =>
    safely(c, object, () => object.branch(history, addition(asked.messages, answer), keepingOf(c)));
  return { request: withHistory(c, history, asked, lead), keep };
}

/** A request that is part of no conversation. */
export function alone(request: ChatRequest, lead: readonly Message[] = []): Talk {
  return { request: lead.length === 0 ? request : withMessages(request, [...lead, ...request.messages]), keep: null };
}

/** The request less its oldest turns where it wants that and the model can't hold them. Throws the 400. */
export function shortened(
  c: GatewayContext,
  body: JsonObject,
  request: ChatRequest,
  lead: readonly Message[] = [],
): ChatRequest {
  if (!wantsTruncation(body)) return request;
  const messages = truncated(c.get("gateway").config, request, lead);
  return messages === request.messages ? request : withMessages(request, messages);
}

/** Whether a request wants to lose its oldest turns rather than be refused. Throws the 400. */
function wantsTruncation({ truncation }: JsonObject): boolean {
  if (truncation === undefined || truncation === null || truncation === "disabled") return false;
  if (truncation === "auto") return true;
  throw badRequest("`truncation` must be auto or disabled.", "truncation");
}

function previousNotFound(id: string): ApiError {
  const message = `The response \`${id}\` is not kept here: it is unknown, was made with \`store: false\`, or its time is over.`;
  return new ApiError(404, "previous_response_not_found", message, { param: "previous_response_id" });
}

export async function forget(c: GatewayContext, id: string): Promise<void> {
  await conversationOf(c, id).forget();
}

/** One object a conversation of one tenant: another tenant's conversation of the same id is another object. */
function conversationOf(c: GatewayContext, id: string): ConversationPort {
  return c.env.CONVERSATIONS.getByName(`${c.get("record").tenant}/${id}`) as unknown as ConversationPort;
}

async function read(object: ConversationPort): Promise<History> {
  let history: History | undefined;
  let cause: unknown;
  try {
    history = await within(PATIENCE_MS, object.recall());
  } catch (error) {
    cause = error;
  }
  if (history !== undefined) return history;
  // Without its history the answer would be to another question.
  throw new ApiError(503, "conversation_unavailable", "The conversation can't be read now; try again.", {
    headers: { "retry-after": "1" },
    cause,
  });
}

async function safely(c: GatewayContext, object: ConversationPort, work: () => Promise<Fallen | null>): Promise<void> {
  try {
    const fallen = await work();
    if (fallen !== null) c.executionCtx.waitUntil(summarise(c, object, fallen).catch(() => lost(c, "summary")));
  } catch {
    lost(c, "turn");
  }
}

function lost(c: GatewayContext, what: string): void {
  const { ambient } = c.get("gateway");
  ambient.log(JSON.stringify({ event: "conversation_not_kept", level: "error", id: c.get("record").id, what }));
}

function keepingOf(c: GatewayContext): Keeping {
  const { window_tokens, ttl, summary_model } = c.get("gateway").config.conversations;
  return { windowTokens: window_tokens, ttl, summarised: summary_model !== null };
}

function withHistory(c: GatewayContext, history: History, asked: ChatRequest, lead: readonly Message[]): ChatRequest {
  const { config } = c.get("gateway");
  const room = Math.min(config.conversations.window_tokens, roomBeside(config, asked, [...lead, ...asked.messages]));
  return { ...withMessages(asked, [...lead, ...recalled(history, asked.messages, room)]), judged: true };
}

function withMessages(request: ChatRequest, messages: readonly Message[]): ChatRequest {
  return { ...request, messages, identity: { ...request.identity, messages } };
}

/** The request as it may be kept: looked over and masked before its history is added. */
async function checked(c: GatewayContext, given: ChatRequest, lead: readonly Message[]): Promise<ChatRequest> {
  const { n } = given.parameters;
  if (n !== undefined && n !== 1) throw badRequest("`n` must be 1 in a conversation.", "n");
  return guardPrompt(c, given, lead);
}
