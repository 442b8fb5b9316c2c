/** The world -> the router's table, and what of the world the router cannot enforce. */

import { type Expression, parse } from "./inside/expression.ts";
import { compareRoutes, parsePattern } from "./inside/match.ts";
import type { LimitRule, RouterTable, WorkerEntry } from "./inside/table.ts";
import { newestFirst, type Worker, type World } from "./world.ts";

interface RatelimitRule {
  readonly id?: string;
  readonly ref?: string;
  readonly action?: string;
  readonly enabled?: boolean;
  readonly expression?: string;
  readonly action_parameters?: { response?: { status_code?: number; content?: string; content_type?: string } };
  readonly ratelimit?: {
    characteristics?: string[];
    period?: number;
    requests_per_period?: number;
    mitigation_timeout?: number;
    counting_expression?: string;
  };
}

function entry(worker: Worker): WorkerEntry {
  const shares = new Map((worker.deployment?.versions ?? []).map((share) => [share.version_id, share.percentage]));
  const versions = newestFirst(worker.versions).map((version) => version.id);
  const split = versions.flatMap((id) => (shares.has(id) ? [{ id, percentage: shares.get(id) ?? 0 }] : []));
  return { split, versions, subdomain: worker.subdomain.enabled, previews: worker.subdomain.previews_enabled };
}

/** Header names among the characteristics; throws for one that cannot be counted here. */
function countedHeaders(characteristics: readonly string[]): string[] {
  return characteristics.flatMap((name) => {
    if (name === "ip.src" || name === "cf.colo.id") return [];
    const [, header] = /^http\.request\.headers\["([^"]+)"\]$/.exec(name) ?? [];
    if (header === undefined) throw new SyntaxError(`characteristic ${name} is not supported on the local stage`);
    return [header];
  });
}

function limitRule(zone: string, rule: RatelimitRule, at: number): LimitRule {
  if (rule.action !== "block") throw new SyntaxError(`action ${rule.action} is not supported on the local stage`);
  const limit = rule.ratelimit;
  if (!limit?.period || limit.requests_per_period === undefined)
    throw new SyntaxError("the rule has no ratelimit.period or requests_per_period");
  if (limit.counting_expression && limit.counting_expression !== rule.expression)
    throw new SyntaxError("a counting expression is not supported on the local stage");
  const given = rule.action_parameters?.response;
  return {
    id: `${zone}/${rule.id ?? rule.ref ?? at}`,
    zone,
    expression: parse(rule.expression ?? "") satisfies Expression,
    headers: countedHeaders(limit.characteristics ?? []),
    period: limit.period,
    requests: limit.requests_per_period,
    timeout: limit.mitigation_timeout ?? 0,
    response: given
      ? { status: given.status_code ?? 429, body: given.content ?? "", contentType: given.content_type ?? "text/plain" }
      : null,
  };
}

export interface Refused {
  readonly zone: string;
  readonly rule: string;
  readonly reason: string;
}

function limits(world: World): { limits: LimitRule[]; refused: Refused[] } {
  const taken: LimitRule[] = [];
  const refused: Refused[] = [];
  for (const { zone, rules } of world.rate_limits) {
    for (const [at, rule] of (rules as readonly RatelimitRule[]).entries()) {
      if (rule.enabled === false) continue;
      try {
        taken.push(limitRule(zone, rule, at));
      } catch (error) {
        refused.push({ zone, rule: rule.ref ?? rule.id ?? String(at), reason: (error as Error).message });
      }
    }
  }
  return { limits: taken, refused };
}

export function routing(world: World, hostSuffix: string): { table: RouterTable; refused: Refused[] } {
  const { limits: rules, refused } = limits(world);
  const first = world.workers.find((worker) => worker.deployment !== null)?.name ?? null;
  const table: RouterTable = {
    main: world.main_worker ?? first,
    suffix: `${world.account_subdomain}.${hostSuffix}`,
    domains: Object.fromEntries(world.domains.map(({ hostname, service }) => [hostname.toLowerCase(), service])),
    routes: world.routes.map(({ pattern, script }) => parsePattern(pattern, script)).sort(compareRoutes),
    workers: Object.fromEntries(world.workers.map((worker) => [worker.name, entry(worker)])),
    limits: rules,
  };
  return { table, refused };
}
