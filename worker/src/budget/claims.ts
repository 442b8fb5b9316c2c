import type { Principal } from "../access/principal.ts";
import type { GatewayConfig, ModelVersion } from "../config.ts";
import type { Budget } from "../config-policies.ts";
import { parseModel } from "../routing/route.ts";
import type { Account } from "./account.ts";
import type { Accounts } from "./accounts.ts";
import { nanosOf } from "./money.ts";
import type { Terms } from "./protocol.ts";

/** One ledger that a request is booked in, with what it must fit there. */
export interface Claim {
  readonly account: Account;
  /** The budgets that can refuse it, in the order of `terms.limits`. */
  readonly budgets: readonly Budget[];
  readonly terms: Terms;
  readonly tokensPerMinute: number | null;
}

type Scope = Budget["scope"];
const SCOPES: readonly Scope[] = ["key", "team", "stage"];

/** Whether any ledger has to be asked about this caller's requests. */
export function isLimited(config: GatewayConfig, principal: Principal): boolean {
  const { limits, budgets } = config;
  if (budgets.limits.length > 0 || principal.budgets.length > 0) return true;
  return principal.tokensPerMinute !== null || limits.tokens_per_minute !== null;
}

/** The ledgers of a request by this caller to this version. `address`: of a caller without key. */
export function claimsOf(
  config: GatewayConfig,
  accounts: Accounts,
  principal: Principal,
  spec: ModelVersion,
  address: () => string,
): Claim[] {
  const claims: Claim[] = [];
  const perMinute = principal.tokensPerMinute ?? config.limits.tokens_per_minute;
  const nobody = principal.via === "nobody";
  // Callers without key share the money of one, but not the minute: one of them must not use up the others'.
  if (perMinute !== null && nobody) {
    const account = accounts.of("ip", address());
    claims.push({ account, budgets: [], terms: { limits: [], alerts: null }, tokensPerMinute: perMinute });
  }
  for (const scope of SCOPES) {
    const budgets = budgetsOf(config, principal, scope);
    const tokensPerMinute = scope === "key" && !nobody ? perMinute : null;
    const account = budgets.length > 0 || tokensPerMinute !== null ? accountOf(accounts, principal, scope) : null;
    if (account === null) continue;
    account.terms = termsOf(config, principal, scope, budgets);
    // A budget that falls to this very model doesn't refuse it, or nothing would be gained by falling.
    const strict = budgets.filter(({ fall_to }) => fall_to === null || !namedBy(config, fall_to).includes(spec));
    const terms = strict.length === budgets.length ? account.terms : termsOf(config, principal, scope, strict);
    claims.push({ account, budgets: strict, terms, tokensPerMinute });
  }
  return claims;
}

/** A caller's own budgets stand in place of the stage's for the same scope and period. */
function budgetsOf(config: GatewayConfig, principal: Principal, scope: Scope): Budget[] {
  const own = principal.budgets.filter((budget) => budget.scope === scope);
  const others = config.budgets.limits.filter(
    (budget) => budget.scope === scope && !own.some(({ period }) => period === budget.period),
  );
  return [...own, ...others];
}

function accountOf(accounts: Accounts, principal: Principal, scope: Scope): Account | null {
  if (scope === "key") return accounts.of("key", principal.tenant);
  if (scope === "stage") return accounts.of("stage");
  return principal.team === null ? null : accounts.of("team", principal.team);
}

function termsOf(config: GatewayConfig, principal: Principal, scope: Scope, budgets: readonly Budget[]): Terms {
  const limits = budgets.map(({ period, usd }) => ({ period, nanos: nanosOf(usd) }));
  const { webhook } = config.budgets;
  if (webhook === null) return { limits, alerts: null };
  const id = scope === "key" ? keyName(principal) : scope === "team" ? (principal.team ?? "") : "";
  return { limits, alerts: { webhook, stage: config.stage, scope: `${scope} ${id}`.trim() } };
}

/** How a caller is named in reports and messages. */
export function keyName(principal: Principal): string {
  return principal.keyId ?? principal.tenant;
}

/** Whether there is such a model or version: a key's budget may outlive the model that it falls to. */
export function isServed(config: GatewayConfig, wanted: string): boolean {
  return namedBy(config, wanted).length > 0;
}

/** The versions that `chat-small` or `chat@1` names. */
function namedBy(config: GatewayConfig, wanted: string): ModelVersion[] {
  const { name, version } = parseModel(wanted);
  const versions = Object.hasOwn(config.models, name) ? (config.models[name]?.versions ?? {}) : {};
  if (version === null) return Object.values(versions);
  const one = Object.hasOwn(versions, String(version)) ? versions[String(version)] : undefined;
  return one === undefined ? [] : [one];
}
