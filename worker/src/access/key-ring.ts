import { DurableObject } from "cloudflare:workers";

/** Owner of the stage's API keys: needs no binding. */
export class KeyRing extends DurableObject<unknown> {}
