import type { Fallen, Keeping } from "./conversation.ts";
import type { Addition, History } from "./core.ts";

/** The Durable Object as the gateway calls it: the stub's own types wrap every result for RPC. */
export interface ConversationPort {
  recall(): Promise<History>;
  append(addition: Addition, keeping: Keeping): Promise<Fallen | null>;
  branch(history: History, addition: Addition, keeping: Keeping): Promise<Fallen | null>;
  sumUp(which: Pick<Fallen, "from" | "upTo">, summary: string): Promise<void>;
  forget(): Promise<void>;
}
