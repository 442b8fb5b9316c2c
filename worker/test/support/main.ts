// A type only: `stage.ts` imports the test runtime, which imports this file.
import type { Stage } from "./stage.ts";

export { Conversation, KeyRing, Ledger, RolloutController } from "../../src/index.ts";

/** The stage that requests over the `SELF` binding reach; a test puts its own here. */
export const served: { stage: Stage | null } = { stage: null };

export default {
  async fetch(request: Request, _env: unknown, ctx: ExecutionContext): Promise<Response> {
    if (served.stage === null) throw new Error("no test has put a stage here");
    return served.stage.fetch(request, ctx);
  },
} satisfies ExportedHandler;
