import type { Answer } from "../backends/backend.ts";
import type { JsonObject } from "../chat/json-body.ts";
import type { ChatRequest } from "../chat/request.ts";
import type { GatewayContext } from "../gateway.ts";
import type { Route } from "../routing/route.ts";
import { isProbe } from "./probe.ts";

/** What a request that a rollout counts has shown so far. Kept with its record, and looked at when it is over. */
export interface Evidence {
  readonly model: string;
  readonly version: number;
  /** Whom the split sticks to. */
  readonly user: string;
  /** Nobody asked it: see `probe.ts`. */
  readonly probe?: boolean;
  /** What was asked, to be asked again of another version; null where that makes no sense. */
  readonly request: ChatRequest | null;
  /** What the model said to which parameters, before anything of it was masked. */
  said: { readonly answer: Answer; readonly parameters: JsonObject } | null;
  /** It went to another model for a reason that says nothing of this version: a budget. */
  astray: boolean;
  /** A call to the version failed, though another may have saved the request: the next one may not be so lucky. */
  faltered: boolean;
  /** It has been told of as still running. */
  late: boolean;
}

/** Keeps an answer to be judged when the request is over. */
export function heard(c: GatewayContext, parameters: JsonObject, answer: Answer): void {
  const { evidence } = c.get("record");
  if (evidence !== null) evidence.said = { answer, parameters };
}

/** Notes that a call to the version that the request was routed to has failed by the fault of its backend. */
export function faltered(c: GatewayContext): void {
  const { evidence } = c.get("record");
  if (evidence !== null) evidence.faltered = true;
}

/** Notes that the request says nothing of the version that it was routed to. */
export function gone(c: GatewayContext): void {
  const { evidence } = c.get("record");
  if (evidence !== null) evidence.astray = true;
}

/** Notes that a request is on its way to a version that a rollout may count it for. */
export function begin(
  c: GatewayContext,
  { model, version, variant }: Route,
  user: string,
  request: ChatRequest | null = null,
): void {
  const { outcomes } = c.get("gateway");
  const probe = isProbe(c.req.raw);
  if ((variant === "pinned" && !probe) || !outcomes.watches(model)) return;
  const record = c.get("record");
  // What nobody asked is not asked again.
  const asked = probe ? null : request;
  record.evidence = {
    model,
    version,
    user,
    probe,
    request: asked,
    said: null,
    astray: false,
    faltered: false,
    late: false,
  };
  outcomes.began(record, c.env, (work) => c.executionCtx.waitUntil(work));
}
