/** The edge in small: places each request on a version of a Worker. Runs in workerd, in front of every version. */

import { WorkerEntrypoint } from "cloudflare:workers";
import { drained } from "./drain.ts";
import { edgeProperties, edgeRequest } from "./edge.ts";
import { Limiter, limitResponse } from "./limit.ts";
import { resolve, type Target } from "./match.ts";
import { pick } from "./pick.ts";
import { fromHost, refused } from "./secret.ts";
import { CLIENT_IP_HEADER, type RouterTable, versionBinding } from "./table.ts";

interface Env {
  /** The host's table, for a router that has just started and was not pushed one. */
  TABLE: Fetcher;
  [version: string]: Fetcher;
}

let current: RouterTable | undefined;
const limiter = new Limiter();

async function table(env: Env): Promise<RouterTable> {
  if (current !== undefined) return current;
  const pulled = (await (await env.TABLE.fetch("http://host/table")).json()) as RouterTable;
  // A push that came meanwhile is newer than what was pulled.
  current ??= pulled;
  return current;
}

function limited(rules: RouterTable["limits"], request: Request, url: URL, ip: string): Response | null {
  if (rules.length === 0) return null;
  const facts = {
    host: url.hostname,
    path: url.pathname,
    query: url.search.slice(1),
    method: request.method,
    url: url.href,
  };
  const client = (rule: RouterTable["limits"][number]) =>
    [ip, ...rule.headers.map((name) => request.headers.get(name) ?? "")].join("\n");
  const hit = limiter.check(rules, facts, client, Date.now());
  return hit && limitResponse(hit.rule, hit.retryAfter);
}

async function versionOf(
  routes: RouterTable,
  target: Target & { kind: "worker" },
  headers: Headers,
): Promise<string | undefined> {
  if (target.version !== undefined) return target.version;
  const entry = routes.workers[target.script];
  return entry && (await pick(entry, target.script, headers, Math.random()));
}

async function dispatch(env: Env, version: string, request: Request): Promise<Response> {
  try {
    const worker = env[versionBinding(version)] as Fetcher;
    return await drained(request, (whole) => worker.fetch(whole));
  } catch (error) {
    // The tail has the exception with its stack; the client sees what Cloudflare shows.
    console.error(`uncaught in version ${version}: ${error instanceof Error ? (error.stack ?? error.message) : error}`);
    return new Response("error code: 1101", { status: 500, headers: { "content-type": "text/plain; charset=UTF-8" } });
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const routes = await table(env);
    const url = new URL(request.url);
    const ip = request.headers.get(CLIENT_IP_HEADER) ?? "127.0.0.1";
    const refused = limited(routes.limits, request, url, ip);
    if (refused !== null) return refused;
    const target = resolve(routes, url.hostname, url.pathname + url.search);
    if (target.kind === "none")
      return new Response(target.body, {
        status: target.status,
        headers: { "content-type": "text/plain; charset=UTF-8" },
      });
    const version = await versionOf(routes, target, request.headers);
    if (version === undefined) return new Response("error code: 1042", { status: 404 });
    return dispatch(env, version, edgeRequest(request, url, ip, edgeProperties()));
  },
};

/** Service bindings come through here, so that a binding follows the target's split as a request does. */
export class Service extends WorkerEntrypoint<Env, { script: string; entrypoint?: string }> {
  constructor(ctx: ExecutionContext<{ script: string; entrypoint?: string }>, env: Env) {
    super(ctx, env);
    // biome-ignore lint/correctness/noConstructorReturn: the proxy is what makes unknown method names callable over RPC
    return new Proxy(this, {
      get(target, name, receiver) {
        if (typeof name !== "string" || Reflect.has(target, name)) return Reflect.get(target, name, receiver);
        return async (...args: unknown[]) => {
          const stub = (await target.stub(new Headers())) as unknown as Record<string, (...args: unknown[]) => unknown>;
          return stub[name]?.(...args);
        };
      },
    });
  }

  async stub(headers: Headers): Promise<Fetcher> {
    const { script, entrypoint } = this.ctx.props;
    const entry = (await table(this.env)).workers[script];
    const version = entry && (await pick(entry, script, headers, Math.random()));
    if (version === undefined) throw new Error(`service "${script}" has no deployed version`);
    return this.env[versionBinding(version, entrypoint)] as Fetcher;
  }

  override async fetch(request: Request): Promise<Response> {
    return (await this.stub(request.headers)).fetch(request);
  }
}

/** On a socket of its own, so that no client of a Worker can reach it; and for the host alone. */
export class Admin extends WorkerEntrypoint<Env> {
  override async fetch(request: Request): Promise<Response> {
    if (!fromHost(request, this.env)) return refused();
    current = (await request.json()) as RouterTable;
    return new Response(null, { status: 204 });
  }
}
