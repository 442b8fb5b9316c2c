/**
 * Where a caller's turns should go again, so that the backend finds its prefix cache: 32 hex digits, the same for the
 * same tenant and user. No secret and no proof, so a digest's price on every request would be for nothing.
 */
export function affinityOf(tenant: string, user: string): string {
  const text = `${tenant}\n${user}`;
  return hash(text, 1) + hash(text, 2);
}

/** 64 bits of a text, spread by two multiplicative hashes that stir each other at the end. */
function hash(text: string, seed: number): string {
  let high = 0x9e3779b9 ^ seed;
  let low = 0x85ebca6b ^ seed;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    high = Math.imul(high ^ unit, 0xcc9e2d51);
    low = Math.imul(low ^ unit, 0x1b873593);
  }
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  return hex(high) + hex(low);
}

function hex(bits: number): string {
  return (bits >>> 0).toString(16).padStart(8, "0");
}
