import { DurableObject } from "cloudflare:workers";

/** The turns of one conversation: needs no binding. */
export class Conversation extends DurableObject<unknown> {}
