/**
 * What no model means anything by, and what hides text from whoever reads a log: controls other than tab, line feed and
 * carriage return; characters that turn the direction of text around; invisible operators, annotations and noncharacters.
 * Joiners and direction marks stay: emoji, Persian and Hebrew need them.
 */
const REMOVED =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it removes
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2060-\u206f\ufdd0-\ufdef\ufeff\ufff9-\ufffb\ufffe\uffff]/g;
/** Invisible copies of ASCII, but for those that make the flag of a region. */
const TAGS = /(\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{3,6}\u{e007f})|[\u{e0000}-\u{e007f}]/gu;
/** One selector chooses a form; a row of them carries hidden bytes. */
const SELECTORS = /([\ufe00-\ufe0f\u{e0100}-\u{e01ef}])[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]+/gu;
/** The first unit of every character that the two above are about. */
const RARE = /[\ufe00-\ufe0f\udb40]/;

/** Text from a client as it goes on: well-formed Unicode without characters that only hide something. */
export function sanitise(text: string): string {
  const clean = text.toWellFormed().replace(REMOVED, "");
  return RARE.test(clean) ? clean.replace(TAGS, "$1").replace(SELECTORS, "$1") : clean;
}

/** Deeper than any client nests, and far from where a recursion would end. */
const DEEPEST = 64;

/** The same value with every string in it sanitised. Throws a `RangeError` for one that is nested too deep. */
export function sanitiseAll(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return sanitise(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth === DEEPEST) throw new RangeError(`nested more than ${DEEPEST} levels deep`);
  if (Array.isArray(value)) return value.map((item) => sanitiseAll(item, depth + 1));
  // Not by assignment: a field called `__proto__` is a field like any other.
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, sanitiseAll(item, depth + 1)]));
}
