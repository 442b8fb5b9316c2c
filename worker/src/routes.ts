import { Asked, Context, pathOf } from "./context.ts";
import type { GatewayEnv } from "./env.ts";
import type { Handler, Layer } from "./gateway.ts";

/** What answers a method at a path. */
export type Endpoint = readonly [method: string, path: string, endpoint: Handler];

type Failure = (thrown: unknown, c: Context) => Response;

interface Route {
  /** Null: any. */
  readonly method: string | null;
  /** Of the path; `:name` takes any but an empty one, a last `*` whatever follows, also nothing. */
  readonly segments: readonly string[];
  readonly layer: Layer;
}

interface Found {
  readonly layers: readonly Layer[];
  readonly params: Readonly<Record<string, string>>;
}

const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT"]);

/**
 * A table of routes. A request goes through every layer whose path and method fit, in the order in which they were
 * added, until one answers; the answer goes back through those that it has passed. What is thrown is answered by
 * `failure`, whose answer goes back like any other. One loop and no layer inside another: that cost a promise or three a
 * layer, which were more than what most of them do.
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
  add(method: string | null, path: string, ...layers: readonly (Layer | Handler)[]): void {
    this.#known.clear();
    if (!/[:*]/.test(path)) this.#plain.add(path);
    const segments = path.slice(1).split("/");
    for (const one of layers) {
      const layer = typeof one === "function" ? { before: one } : one;
      this.#routes.push({ method, segments, layer });
    }
  }

  async fetch(request: Request, env: GatewayEnv, executionCtx: ExecutionContext): Promise<Response> {
    const isHead = request.method === "HEAD";
    const path = pathOf(request.url);
    const { layers, params } = this.match(isHead ? "GET" : request.method, path);
    const c = new Context(new Asked(request, path, params), env, executionCtx);
    await this.#pass(c, layers);
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
    return { layers: fitting.map(({ layer }) => layer), params };
  }

  async #pass(c: Context, layers: readonly Layer[]): Promise<void> {
    let passed = 0;
    try {
      for (const { before } of layers) {
        const given = before?.(c);
        const answer = given instanceof Promise ? await given : given;
        passed++;
        if (!answer) continue;
        c.res = answer;
        break;
      }
      c.res ??= this.#notFound(c);
    } catch (thrown) {
      c.res = this.#failure(thrown, c);
    }
    for (let at = passed - 1; at >= 0; at--) this.#goBack(c, layers[at] as Layer);
  }

  #goBack(c: Context, { after }: Layer): void {
    try {
      after?.(c);
    } catch (thrown) {
      c.res = this.#failure(thrown, c);
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
