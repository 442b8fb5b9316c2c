import type { Account } from "../budget/account.ts";
import { ledgerOf } from "../budget/accounts.ts";
import type { GatewayConfig } from "../config.ts";
import { ApiError } from "../errors.ts";
import type { GatewayContext, Handler } from "../gateway.ts";
import { within } from "../patience.ts";
import { clientAddress } from "../routing/client.ts";
import type { Soon } from "../soon.ts";
import { Standing } from "./standing.ts";

/** Longest wait for the object that counts a key's requests. */
const PATIENCE_MS = 1_000;

/**
 * Limits requests by key, or by address where no key is asked for. A key with a limit of its own is counted exactly, in
 * one place; the others by the platform's limiter, whose word a caller far from the limit needn't wait for. A limiter
 * that fails lets requests pass: it guards against bursts, and budgets and the zone's own rule stand behind it.
 */
export function rateLimit(limits: GatewayConfig["limits"]): Handler {
  const standing = new Standing(limits);
  return function rateLimit(c) {
    const { requestsPerMinute } = c.get("principal");
    return requestsPerMinute === null ? throughPlatform(c, limits, standing) : throughLedger(c, requestsPerMinute);
  };
}

function throughPlatform(c: GatewayContext, limits: GatewayConfig["limits"], standing: Standing): Soon<void> {
  const principal = c.get("principal");
  const { ambient } = c.get("gateway");
  const key = principal.via === "nobody" ? `ip ${clientAddress(c.req.raw)}` : `key ${principal.tenant}`;
  const isGood = standing.isGood(key, ambient.now());
  const word = ask(c.env.RATE_LIMIT, key).then((admitted) => {
    standing.heard(key, ambient.now(), admitted);
    return admitted;
  });
  if (!isGood) return hear(c, limits, word);
  c.get("presence").behind(word);
  c.get("record").rateLimiter = "ok";
}

async function hear(c: GatewayContext, limits: GatewayConfig["limits"], word: Promise<boolean | null>): Promise<void> {
  const admitted = await word;
  c.get("record").rateLimiter = admitted === null ? "failed" : "ok";
  if (admitted === false) throw limited(limits.requests, limits.period, limits.period);
}

/** The limiter's word; null when it fails. */
async function ask(limiter: RateLimit, key: string): Promise<boolean | null> {
  try {
    return (await limiter.limit({ key })).success;
  } catch {
    return null;
  }
}

async function throughLedger(c: GatewayContext, perMinute: number): Promise<void> {
  const record = c.get("record");
  const principal = c.get("principal");
  const gateway = c.get("gateway");
  const now = gateway.ambient.now();
  const account = gateway.accounts.of("key", principal.tenant);
  // Whoever goes on asking after a refusal costs nobody a call.
  const wait = waitKnown(account, now) || (await waitAt(c, account, perMinute, now));
  record.rateLimiter = Number.isNaN(wait) ? "failed" : "ok";
  if (wait > 0) {
    account.blockedUntil = Math.max(account.blockedUntil, now + wait * 1_000);
    throw limited(perMinute, 60, wait);
  }
}

function waitKnown(account: Account, now: number): number {
  return Math.max(0, Math.ceil((account.blockedUntil - now) / 1_000));
}

/** Seconds to wait, 0 when the request is admitted, NaN when nobody knows. */
async function waitAt(c: GatewayContext, account: Account, perMinute: number, now: number): Promise<number> {
  try {
    return (await within(PATIENCE_MS, ledgerOf(c.env, account.ledger).hit(now, perMinute))) ?? Number.NaN;
  } catch {
    return Number.NaN;
  }
}

function limited(requests: number, period: number, wait: number): ApiError {
  const message = `More than ${requests} requests in ${period} seconds.`;
  return new ApiError(429, "rate_limit_exceeded", message, { headers: { "retry-after": String(wait) } });
}
