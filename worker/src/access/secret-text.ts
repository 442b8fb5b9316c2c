/** Longest text that is compared without a digest, in bytes. A stage key is far shorter. */
const LONGEST = 510;
const encoder = new TextEncoder();

/**
 * A secret to hold texts against without waiting for a digest. A comparison takes the same time whatever differs: both
 * are laid out in as many bytes, their length before them.
 */
export class SecretText {
  readonly #bytes: Uint8Array | null;
  readonly #other = new Uint8Array(LONGEST + 2);
  readonly #otherText = this.#other.subarray(2);

  constructor(text: string) {
    const bytes = new Uint8Array(LONGEST + 2);
    this.#bytes = layOut(text, bytes, bytes.subarray(2)) ? bytes : null;
  }

  /** Whether a text is the secret. False for one that is too long to tell, and of a secret that is. */
  equals(text: string): boolean {
    const fits = layOut(text, this.#other, this.#otherText);
    return this.#bytes !== null && crypto.subtle.timingSafeEqual(this.#bytes, this.#other) && fits;
  }
}

/** Fills `into` with the text's length and its UTF-8, then zeros; false when it is too long. `behind`: `into` after the length. */
function layOut(text: string, into: Uint8Array, behind: Uint8Array): boolean {
  into.fill(0);
  const { read, written } = encoder.encodeInto(text, behind);
  into[0] = written >> 8;
  into[1] = written & 255;
  return read === text.length;
}
