import { Asked, Context, pathOf } from "./context.ts";
import type { GatewayEnv } from "./env.ts";
import type { GatewayMiddleware } from "./gateway.ts";

/** What answers a method at a path. */
export type Endpoint = readonly [method: string, path: string, endpoint: GatewayMiddleware];

type Failure = (error: Error, c: Context) => Response;

interface Route {
  /** Null: any. */
  readonly method: string | null;
  /** Of the path; `:name` takes any but an empty one, a last `*` whatever follows, also nothing. */
  readonly segments: readonly string[];
  readonly handler: GatewayMiddleware;
}

interface Found {
  readonly handlers: readonly GatewayMiddleware[];
  readonly params: Readonly<Record<string, string>>;
}

const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT"]);

/**
 * A table of routes. A request goes through every handler whose path and method fit, in the order in which they were
 * added, as far as each of them calls `next`. An error is answered by `failure` where it was thrown: the handlers
 * around see an answer like any other.
 */
export class Routes {
  readonly #notFound: (c: Context) => Response;
  readonly #failure: Failure;
  readonly #routes: Route[] = [];
  /** Paths without parameters, where what is found is always the same, and what was found of them by method. */
  readonly #plain = new Set<string>();
  readonly #known = new Map<string, Found>();

  constructor(notFound: (c: Context) => Response, failure: Failure) {
    this.#notFound = notFound;
    this.#failure = failure;
  }

  /** `method` null: any. */
  add(method: string | null, path: string, ...handlers: readonly GatewayMiddleware[]): void {
    this.#known.clear();
    if (!/[:*]/.test(path)) this.#plain.add(path);
    const segments = path.slice(1).split("/");
    for (const handler of handlers) this.#routes.push({ method, segments, handler });
  }

  async fetch(request: Request, env: GatewayEnv, executionCtx: ExecutionContext): Promise<Response> {
    const isHead = request.method === "HEAD";
    const path = pathOf(request.url);
    const { handlers, params } = this.match(isHead ? "GET" : request.method, path);
    const c = new Context(new Asked(request, path, params), env, executionCtx);
    await this.#run(c, handlers, 0);
    return isHead ? new Response(null, c.res) : c.res;
  }

  match(method: string, path: string): Found {
    if (!this.#plain.has(path) || !METHODS.has(method)) return this.#find(method, path);
    const key = `${method} ${path}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const found = this.#find(method, path);
    this.#known.set(key, found);
    return found;
  }

  #find(method: string, path: string): Found {
    const segments = path.slice(1).split("/");
    const params: Record<string, string> = {};
    const fitting = this.#routes.filter(
      (route) => (route.method === null || route.method === method) && fits(route.segments, segments, params),
    );
    return { handlers: fitting.map(({ handler }) => handler), params };
  }

  async #run(c: Context, handlers: readonly GatewayMiddleware[], at: number): Promise<void> {
    try {
      const handler = handlers[at];
      if (handler === undefined) {
        c.res ??= this.#notFound(c);
        return;
      }
      const answer = await handler(c, () => this.#run(c, handlers, at + 1));
      if (answer) c.res ??= answer;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      c.res = this.#failure(error, c);
    }
  }
}

/** Whether a path is a route's; what stands at its names goes into `params`. */
function fits(route: readonly string[], path: readonly string[], params: Record<string, string>): boolean {
  const isOpen = route.at(-1) === "*";
  const length = isOpen ? route.length - 1 : route.length;
  if (isOpen ? path.length < length : path.length !== length) return false;
  const named: Record<string, string> = {};
  for (let at = 0; at < length; at++) {
    const wanted = route[at] as string;
    const segment = path[at] as string;
    if (wanted[0] === ":" && segment !== "") named[wanted.slice(1)] = segment;
    else if (wanted !== segment) return false;
  }
  Object.assign(params, named);
  return true;
}
