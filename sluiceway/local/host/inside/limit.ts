/** Zone rate-limit rules: fixed windows per rule and client, held in the isolate as an edge location holds its own. */

import { type Facts, matches } from "./expression.ts";
import type { LimitRule } from "./table.ts";

interface Window {
  start: number;
  count: number;
  blockedUntil: number;
}

const MAX_CLIENTS = 50_000;

export class Limiter {
  readonly #windows = new Map<string, Window>();

  /** Counts the request under every rule it matches; the rule that blocks it and for how many seconds more, or null. */
  check(
    rules: readonly LimitRule[],
    facts: Facts,
    client: (rule: LimitRule) => string,
    now: number,
  ): { rule: LimitRule; retryAfter: number } | null {
    for (const rule of rules) {
      if (!inZone(rule.zone, facts.host) || !matches(rule.expression, facts)) continue;
      const until = this.#count(rule, `${rule.id}\n${client(rule)}`, now);
      if (until > now) return { rule, retryAfter: Math.max(1, Math.ceil((until - now) / 1000)) };
    }
    return null;
  }

  /** When the client may try again: at or before `now` if it may pass. */
  #count(rule: LimitRule, key: string, now: number): number {
    if (this.#windows.size > MAX_CLIENTS) this.#windows.clear();
    let window = this.#windows.get(key);
    if (window === undefined || (now >= window.start + rule.period * 1000 && now >= window.blockedUntil)) {
      window = { start: now, count: 0, blockedUntil: 0 };
      this.#windows.set(key, window);
    }
    if (window.blockedUntil > now) return window.blockedUntil;
    window.count += 1;
    if (window.count <= rule.requests) return now;
    window.blockedUntil = rule.timeout > 0 ? now + rule.timeout * 1000 : window.start + rule.period * 1000;
    return window.blockedUntil;
  }
}

function inZone(zone: string, host: string): boolean {
  return host === zone || host.endsWith(`.${zone}`);
}

export function limitResponse(rule: LimitRule, retryAfter: number): Response {
  const { status, body, contentType } = rule.response ?? {
    status: 429,
    body: "error code: 1015",
    contentType: "text/plain; charset=UTF-8",
  };
  return new Response(body, { status, headers: { "content-type": contentType, "retry-after": String(retryAfter) } });
}
