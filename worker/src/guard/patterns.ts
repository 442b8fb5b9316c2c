import { isCard, isChineseId, isIban } from "./checksums.ts";

/** Something secret or personal, by the shape of its text. */
export interface Pattern {
  /** What is put in its place: `[email]`. */
  readonly kind: string;
  /**
   * Its shape, linear and bounded. Only a group named `value` is masked, if there is one. What must stand before it is a
   * look-behind of one character.
   */
  readonly shape: string;
  /** What every one of them holds, so that most texts are not searched for it. */
  readonly hint?: string;
  /** Tells a real one from digits that only look like it. */
  readonly real?: (text: string) => boolean;
}

const START = "(?<![A-Za-z0-9_])";
const END = "(?![A-Za-z0-9_])";
/** Keys by which settings and logs name a secret. */
export const SECRET_NAMES = [
  ..."password|passwd|passphrase|pwd|secret|secret[_-]?key|client[_-]?secret|api[ _-]?key|apikey".split("|"),
  ..."access[_-]?key|access[_-]?token|auth[_-]?token|refresh[_-]?token|private[_-]?key|credential".split("|"),
  ..."密码|口令|密钥|私钥|令牌".split("|"),
];

/** In the order in which they are tried at one place of a text. */
/** What stands for a secret in types, messages and code, where a value would stand in a setting. */
const NO_VALUE =
  "(?!(?:required|optional|string|number|boolean|invalid|incorrect|missing|undefined|expired|protected|hidden|is|not)\\b)(?![A-Za-z_]+\\.[A-Za-z_])(?!\\$)";
const VALUE = "[!#-&*+./0-9:=?@A-Z^_a-z|~-]";
const SECRET_NAME = `(?:${SECRET_NAMES.join("|")})`;

export const PATTERNS: readonly Pattern[] = [
  {
    kind: "private_key",
    // Up to its end, the end of the string that it is in, or of the text.
    shape: `-----BEGIN [A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----(?:[^"']{0,20000}?(?:-----END[A-Z ]{0,32}-----|(?=["'])|$)|[^"']{20000})`,
    hint: "-----BEGIN ",
  },
  { kind: "token", hint: "eyJ", shape: `${START}eyJ[\\w-]{16,4096}(?:\\.[\\w-]{2,8192}){0,4}` },
  { kind: "key", shape: `${START}(?:sk|pk|rk)[-_](?:[A-Za-z]{2,12}[-_]){0,3}[A-Za-z0-9_-]{16,256}${END}` },
  { kind: "key", shape: `${START}(?:gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_\\w{40,255}|glpat-[\\w-]{20,64})${END}` },
  { kind: "key", shape: `${START}(?:AKIA|ASIA|AGPA|AROA)[A-Z0-9]{16}${END}` },
  { kind: "key", hint: "AIza", shape: `${START}AIza[\\w-]{35}(?![\\w-])` },
  { kind: "key", shape: `${START}(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,255}${END}` },
  { kind: "key", shape: `${START}(?:hf_[A-Za-z0-9]{30,64}|npm_[A-Za-z0-9]{36}|pypi-[\\w-]{50,255})${END}` },
  { kind: "key", shape: `${START}(?:LTAI[A-Za-z0-9]{12,26}|AKID[A-Za-z0-9]{28,40})${END}` },
  // The user stays readable, the password doesn't.
  {
    kind: "password",
    hint: "://",
    shape: `://[!#-&(-.0-9;-?A-Z_a-z~]{0,64}:(?<value>[!#-&(-.0-9;-?A-Z_a-z~]{1,128})@`,
  },
  { kind: "token", hint: "earer ", shape: `${START}[Bb]earer {1,3}(?<value>[A-Za-z0-9._~+/=-]{16,4096})` },
  {
    kind: "secret",
    shape: `${SECRET_NAME}["'\`]?(?: {0,3}(?:=>?|:|：) {0,3}|(?: is |是 ?|为 ?)(?=${VALUE}{0,64}\\d))["'\`]?${NO_VALUE}(?<value>${VALUE}{6,256})`,
  },
  {
    kind: "email",
    hint: "@",
    shape: `(?<![\\w.+%-])[A-Za-z0-9][\\w.+%-]{0,63}@(?:[A-Za-z0-9-]{1,63}\\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9-])`,
  },
  {
    kind: "id",
    shape: `${START}[1-9]\\d{5}(?:19|20)\\d{2}[01]\\d[0-3]\\d{4}[\\dXx]${END}`,
    real: isChineseId,
  },
  { kind: "id", shape: "(?<![\\w-])(?!000|666|9)\\d{3}-(?!00)\\d{2}-(?!0000)\\d{4}(?![\\w-])" },
  { kind: "iban", shape: `${START}[A-Z]{2}\\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?${END}`, real: isIban },
  { kind: "phone", shape: "(?<![\\w.-])(?:(?:\\+|00)86[ -]?)?1[3-9]\\d[ -]?\\d{4}[ -]?\\d{4}(?![\\w-])" },
  {
    kind: "card",
    shape: "(?<![\\w.-])(?:2[2-7]|3[04-9]|[456]\\d|8[18]|9[789])(?:[ -]?\\d){11,17}(?![\\w-])",
    real: isCard,
  },
  { kind: "phone", shape: "(?<![\\w.-])0\\d{2,3}-[2-9]\\d{6,7}(?![\\w-])" },
  {
    kind: "phone",
    // A run of digits is never cut in two ways, or there were thousands of ways to cut a long one.
    shape: "(?<![\\w.])\\+[1-9]\\d{0,14}(?:(?:[ .-]\\(?|\\(|\\)[ .-]?\\(?)\\d{1,8}){0,5}\\)?(?![\\w-])",
    real: (text) => digits(text) >= 8 && digits(text) <= 15,
  },
  { kind: "phone", shape: "(?<![\\w.-])(?:\\([2-9]\\d{2}\\) ?|[2-9]\\d{2}[-.])[2-9]\\d{2}[-.]\\d{4}(?![\\w-])" },
];

function digits(text: string): number {
  return text.replace(/\D/g, "").length;
}
