import { HonoBase } from "hono/hono-base";
import type { Result, Router } from "hono/router";
import { TrieRouter } from "hono/router/trie-router";
import type { GatewayHono } from "./gateway.ts";

const METHODS: ReadonlySet<string> = new Set(["GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT"]);

/**
 * Looks a path without parameters up once for each method: what comes of it is always the same, and nearly every request
 * goes to one of a few. Any other path is looked for anew.
 */
export class KnownPaths<T> implements Router<T> {
  readonly name = "KnownPaths";
  readonly #all = new TrieRouter<T>();
  readonly #plain = new Set<string>();
  readonly #found = new Map<string, Result<T>>();

  add(method: string, path: string, handler: T): void {
    if (!/[:*?]/.test(path)) this.#plain.add(path);
    this.#found.clear();
    this.#all.add(method, path, handler);
  }

  match(method: string, path: string): Result<T> {
    if (!this.#plain.has(path) || !METHODS.has(method)) return this.#all.match(method, path);
    const key = `${method} ${path}`;
    const known = this.#found.get(key);
    if (known !== undefined) return known;
    const found = this.#all.match(method, path);
    this.#found.set(key, found);
    return found;
  }
}

/** A table of routes, empty. */
export function newRoutes(): HonoBase<GatewayHono> {
  return new HonoBase<GatewayHono>({ router: new KnownPaths() });
}
