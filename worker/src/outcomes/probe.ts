import { NOBODY, type Principal } from "../access/principal.ts";
import type { Ambient } from "../ambient.ts";
import type { GatewayConfig } from "../config.ts";
import type { GatewayEnv } from "../env.ts";

type Fetch = (request: Request, env: GatewayEnv, ctx: ExecutionContext) => Promise<Response>;

/** In whose name probes are sent: it is in the log, and pays. */
export const PROBER: Principal = { ...NOBODY, tenant: "probes", via: "probe", keyId: "probes" };

/** How this isolate's gateways are asked, by stage. */
const offers = new Map<string, { models: GatewayConfig["models"]; ambient: Ambient; fetch: Fetch }>();
/** Requests that were made here: nothing that comes from outside is ever among them. */
const probes = new WeakSet<Request>();

/** Whether we made a request ourselves. */
export function isProbe(request: Request): boolean {
  return probes.has(request);
}

/** Lets the controller, where it lives in this isolate, ask through the gateway of a stage. */
export function offerProbes({ stage, models }: GatewayConfig, ambient: Ambient, fetch: Fetch): void {
  offers.set(stage, { models, ambient, fetch });
}

/**
 * Asks each version one of its model's golden prompts, by the way that every request goes, but past the cache and without
 * stand-ins. Each draws its own: the test that compares them takes requests that don't hang together. Never fails; what
 * comes of it is told as of any request.
 */
export async function sendProbes(
  stage: string,
  { model, versions }: { readonly model: string; readonly versions: readonly number[] },
  env: unknown,
  ctx: Pick<ExecutionContext, "waitUntil">,
): Promise<void> {
  const offer = offers.get(stage);
  const prompts = offer?.models[model]?.probes ?? [];
  if (offer === undefined || prompts.length === 0) return;
  const { ambient, fetch } = offer;
  const later = { waitUntil: (work: Promise<unknown>) => ctx.waitUntil(work) } as ExecutionContext;
  const asked = versions.map(async (version) => {
    const prompt = prompts[Math.floor(ambient.random() * prompts.length)];
    const request = new Request("https://probe.invalid/v1/chat/completions", {
      method: "POST",
      headers: { "content-type": "application/json", "x-sluiceway-cache": "bypass", "x-sluiceway-fallback": "none" },
      body: JSON.stringify({ ...prompt, model: `${model}@${version}`, stream: true }),
    });
    probes.add(request);
    const response = await fetch(request, env as GatewayEnv, later);
    await response.arrayBuffer();
  });
  await Promise.allSettled(asked);
}
