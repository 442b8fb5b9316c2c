/**
 * What the router needs to know to place a request. The host computes it, and pushes it whole whenever it changes:
 * percentages, routes and domains move without a restart of the runtime.
 */

import type { Expression } from "./expression.ts";

export interface Share {
  readonly id: string;
  readonly percentage: number;
}

export interface WorkerEntry {
  /** Newest version first, so that raising the newest one's share moves users only towards it. */
  readonly split: readonly Share[];
  /** Every version that is loaded, deployed or not. */
  readonly versions: readonly string[];
  readonly subdomain: boolean;
  readonly previews: boolean;
}

export interface Route {
  readonly pattern: string;
  readonly host: string;
  readonly path: string;
  /** null: requests that match pass this Worker layer by. */
  readonly script: string | null;
}

export interface LimitRule {
  readonly id: string;
  readonly zone: string;
  readonly expression: Expression;
  /** Names of request headers that are counted beside the client address. */
  readonly headers: readonly string[];
  readonly period: number;
  readonly requests: number;
  readonly timeout: number;
  readonly response: { readonly status: number; readonly body: string; readonly contentType: string } | null;
}

export interface RouterTable {
  readonly main: string | null;
  /** What follows `<worker>.` in a workers.dev name, e.g. `local.workers.dev`. */
  readonly suffix: string;
  readonly domains: Readonly<Record<string, string>>;
  /** Most specific first. */
  readonly routes: readonly Route[];
  readonly workers: Readonly<Record<string, WorkerEntry>>;
  readonly limits: readonly LimitRule[];
}

export const EMPTY_TABLE: RouterTable = {
  main: null,
  suffix: "local.workers.dev",
  domains: {},
  routes: [],
  workers: {},
  limits: [],
};

/** The header by which the front tells the router who the client is; a client's own is dropped by the front. */
export const CLIENT_IP_HEADER = "x-sluiceway-local-client-ip";

/** By which the scripts inside know the host: the header in which it shows its secret, the binding in which they have it. */
export const SECRET_HEADER = "x-sluiceway-inside";
export const SECRET_BINDING = "INSIDE_SECRET";

/** Name of the router's service binding for one version's entry point. */
export function versionBinding(versionId: string, entrypoint?: string): string {
  return entrypoint === undefined ? `v:${versionId}` : `v:${versionId}#${entrypoint}`;
}
