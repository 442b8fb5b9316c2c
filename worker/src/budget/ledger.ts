import { DurableObject } from "cloudflare:workers";

/** What one key, one team or the stage has spent and holds reserved: needs no binding. */
export class Ledger extends DurableObject<unknown> {}
