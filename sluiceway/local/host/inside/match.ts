/** Where a request goes by its host and path: routes, custom domains, workers.dev names, the plain port. */

import type { Route, RouterTable } from "./table.ts";

export type Target =
  | { readonly kind: "worker"; readonly script: string; readonly version?: string }
  | { readonly kind: "none"; readonly status: number; readonly body: string };

/** Splits `https://*.example.com/path*` into host and path. The scheme says nothing here: the local stage has one port. */
export function parsePattern(pattern: string, script: string | null): Route {
  const bare = pattern.replace(/^https?:\/\//i, "");
  const slash = bare.indexOf("/");
  const host = (slash < 0 ? bare : bare.slice(0, slash)).toLowerCase();
  return { pattern, host, path: slash < 0 ? "/" : bare.slice(slash), script };
}

/** Cloudflare picks the most specific pattern: by host first, then by path; no wildcard beats a wildcard. */
export function compareRoutes(a: Route, b: Route): number {
  return specificity(b.host) - specificity(a.host) || specificity(b.path) - specificity(a.path);
}

function specificity(part: string): number {
  const wild = part.startsWith("*") || part.endsWith("*");
  return part.length * 2 + (wild ? 0 : 100_000);
}

function wildcard(pattern: string, text: string): boolean {
  const from = pattern.startsWith("*");
  const to = pattern.length > 1 && pattern.endsWith("*");
  const core = pattern.slice(from ? 1 : 0, to ? -1 : undefined);
  if (from && to) return text.includes(core);
  if (from) return text.endsWith(core);
  return to ? text.startsWith(core) : text === core;
}

/** `path` holds the query string too: a pattern without a trailing `*` does not match a URL with a query. */
function routeMatches(route: Route, hostname: string, path: string): boolean {
  return wildcard(route.host, hostname) && wildcard(route.path, path);
}

function isLoopback(hostname: string): boolean {
  return /^127\.|^localhost$|\.localhost$|^\[?::1\]?$|^0\.0\.0\.0$/.test(hostname);
}

export function resolve(table: RouterTable, hostname: string, path: string): Target {
  // A route lies in front of a custom domain, which is an origin to it; a route to no Worker lets the origin answer.
  const route = table.routes.find((candidate) => routeMatches(candidate, hostname, path));
  const owner = route?.script ?? table.domains[hostname];
  if (owner !== undefined) return worker(table, owner);
  if (hostname.endsWith(`.${table.suffix}`)) return workersDev(table, hostname.slice(0, -table.suffix.length - 1));
  if (!isLoopback(hostname)) return { kind: "none", status: 522, body: "error code: 522" };
  if (table.main !== null) return worker(table, table.main);
  return { kind: "none", status: 404, body: "No Worker is deployed on the local stage yet." };
}

function worker(table: RouterTable, script: string): Target {
  const entry = table.workers[script];
  if (entry && entry.split.length > 0) return { kind: "worker", script };
  return { kind: "none", status: 404, body: "error code: 1042" };
}

function workersDev(table: RouterTable, label: string): Target {
  const direct = table.workers[label];
  if (direct?.subdomain) return worker(table, label);
  const [, prefix, script] = /^([0-9a-f]{8})-(.+)$/.exec(label) ?? [];
  const entry = script === undefined ? undefined : table.workers[script];
  const version = entry?.previews ? entry.versions.find((id) => id.startsWith(`${prefix}`)) : undefined;
  if (script !== undefined && version !== undefined) return { kind: "worker", script, version };
  return { kind: "none", status: 404, body: "There is nothing here yet\nerror code: 1042" };
}
