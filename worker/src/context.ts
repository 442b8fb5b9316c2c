import type { GatewayEnv } from "./env.ts";
import type { GatewayVariables } from "./gateway.ts";

/** A request as handlers ask it, with what its path named. */
export class Asked {
  readonly raw: Request;
  /** Percent-decoded but for what would change its segments, as `%2F`. */
  readonly path: string;
  readonly #params: Readonly<Record<string, string>>;

  constructor(raw: Request, path: string, params: Readonly<Record<string, string>>) {
    this.raw = raw;
    this.path = path;
    this.#params = params;
  }

  get method(): string {
    return this.raw.method;
  }

  header(name: string): string | undefined {
    return this.raw.headers.get(name) ?? undefined;
  }

  query(name: string): string | undefined {
    return new URL(this.raw.url).searchParams.get(name) ?? undefined;
  }

  /** What stands in the path at `:name`, decoded. */
  param(name: string): string | undefined {
    const text = this.#params[name];
    return text?.includes("%") ? decoded(text, decodeURIComponent) : text;
  }
}

/** What a request's handlers share: the request, the stage's bindings, what they leave for each other, the answer. */
export class Context {
  readonly req: Asked;
  readonly env: GatewayEnv;
  readonly executionCtx: ExecutionContext;
  /** There once a handler has answered: for what sees it on its way out. */
  res!: Response;
  readonly #left: Partial<GatewayVariables> = {};

  constructor(req: Asked, env: GatewayEnv, executionCtx: ExecutionContext) {
    this.req = req;
    this.env = env;
    this.executionCtx = executionCtx;
  }

  get<Name extends keyof GatewayVariables>(name: Name): GatewayVariables[Name] {
    return this.#left[name] as GatewayVariables[Name];
  }

  set<Name extends keyof GatewayVariables>(name: Name, value: GatewayVariables[Name]): void {
    this.#left[name] = value;
  }
}

/** The path of a URL, as routes are compared with it. */
export function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf(":") + 3);
  const rest = url.slice(start);
  const end = rest.search(/[?#]/);
  const path = end < 0 ? rest : rest.slice(0, end);
  // An escaped percent sign stays one: what it precedes is no escape.
  return path.includes("%") ? decoded(path, (run) => decodeURI(run.replaceAll("%25", "%2525"))) : path;
}

/** What is no text in UTF-8 stays as it was sent. */
function decoded(text: string, decode: (run: string) => string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, (run) => {
    try {
      return decode(run);
    } catch {
      return run;
    }
  });
}
