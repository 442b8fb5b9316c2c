/**
 * Money is counted in whole nanodollars: sums of whole numbers are the same in any order, and the cheapest token has
 * still several of them. Two to the 53rd of them are nine million dollars.
 */
const NANOS_PER_USD = 1e9;

/** Whole nanodollars of an amount in US dollars. */
export function nanosOf(usd: number): number {
  return Math.min(Math.floor(usd * NANOS_PER_USD + 0.5), Number.MAX_SAFE_INTEGER);
}

export function usdOf(nanos: number): number {
  return nanos / NANOS_PER_USD;
}

/** `$0.004046`: as many digits as it has, at least cents. */
export function dollars(nanos: number): string {
  const digits = usdOf(nanos).toFixed(9).replace(/0+$/, "");
  const decimals = digits.length - digits.indexOf(".") - 1;
  return `$${usdOf(nanos).toFixed(Math.max(2, Math.min(6, decimals)))}`;
}
