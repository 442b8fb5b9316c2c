/** A vector by its direction alone: one byte a dimension, which is enough to tell near from not so near. */
export type Packed = Int8Array;

/** Null for what has no direction. */
export function pack(vector: readonly number[]): Packed | null {
  const largest = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  if (!(largest > 0) || !Number.isFinite(largest)) return null;
  return Int8Array.from(vector, (value) => Math.round((value / largest) * 127));
}

/** Cosine of the angle between two vectors; 0 when they are of different length. */
export function similarity(left: Packed, right: Packed): number {
  if (left.length !== right.length) return 0;
  let both = 0;
  let lefts = 0;
  let rights = 0;
  for (let at = 0; at < left.length; at++) {
    const a = left[at] as number;
    const b = right[at] as number;
    both += a * b;
    lefts += a * a;
    rights += b * b;
  }
  return both === 0 ? 0 : both / Math.sqrt(lefts * rights);
}

export function asText(packed: Packed): string {
  return btoa(String.fromCharCode(...new Uint8Array(packed.buffer, packed.byteOffset, packed.byteLength)));
}

/** Throws for what is no base64. */
export function fromText(text: string): Packed {
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  return new Int8Array(bytes.buffer);
}
