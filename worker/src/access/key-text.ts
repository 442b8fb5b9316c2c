/** Without the letters that people take for digits or for each other. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const ID_LENGTH = 12;
const SECRET_BYTES = 32;
const SHAPE = /^sk-slw-([0-9a-hjkmnp-tv-z]{12})-[A-Za-z0-9_-]{43}$/;

/** A key's text, `sk-slw-<id>-<secret>`, as it is shown once. */
export interface NewKey {
  readonly id: string;
  readonly text: string;
}

/**
 * A new key: 60 random bits of id, 256 of secret. The platform's randomness and no other: what a test could decide, an
 * attacker might.
 */
export function newKey(id = newKeyId()): NewKey {
  const secret = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(SECRET_BYTES))));
  return { id, text: `sk-slw-${id}-${secret.replaceAll("+", "-").replaceAll("/", "_").replace("=", "")}` };
}

function newKeyId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(ID_LENGTH));
  return Array.from(bytes, (byte) => ALPHABET[byte % ALPHABET.length]).join("");
}

/** The id of a text that has a key's shape, else null. */
export function keyIdOf(text: string): string | null {
  return SHAPE.exec(text)?.[1] ?? null;
}
