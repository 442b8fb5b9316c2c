import { once } from "../once.ts";

/**
 * Letters of other scripts that look like Latin ones. Only for looking: the text that goes on is never changed by it.
 */
const lookalikes = once(
  () =>
    new Map([
      ...pairs("аеорсухіѕјԁһӏոԛԝ", "aeopcyxisjdhlnqw"),
      ...pairs("αοειικνρτυχ", "aoeiiknptux"),
      ...pairs("ɡıɑƽ", "giac"),
      // Traditional characters of the words that the rules look for.
      ...pairs(
        "無視規則設統詞開發顯輸從現沒進後內隱訴複絕對話約這員權執請數為過個關說讓轉戶號獄須選擇審資別會們檔訊錄戲續寫",
        "无视规则设统词开发显输从现没进后内隐诉复绝对话约这员权执请数为过个关说让转户号狱须选择审资别会们档讯录戏续写",
      ),
    ]),
);

function pairs(from: string, to: string): [string, string][] {
  const into = [...to];
  return [...from].map((character, index) => [character, into[index] ?? character]);
}

const HIDDEN = "\\p{Cf}\\p{M}\\u115f\\u1160\\u3164";
const HAN = "\\p{Script=Han}";
const NON_ASCII = /[\u0080-\uffff]/;
const TAGS = /[\u{e0020}-\u{e007e}]/gu;
/** Digits and signs for letters, within a word of letters. */
const LEET = /\b(?=[a-z013457@$]{0,24}[a-z])(?=[a-z013457@$]{0,24}[013457@$])[a-z013457@$]{3,24}/g;
const SIGN_IN_WORD = /[a-z][013457@$]|[013457@$][a-z]/;
const LEET_LETTERS: Record<string, string> = { 0: "o", 1: "i", 3: "e", 4: "a", 5: "s", 7: "t", "@": "a", $: "s" };
/** Letters that stand alone, one after another: `i g n o r e`. */
const SPACED = /\b[a-z](?:[ ._*|-]{1,3}[a-z]\b){4,}/g;
const BLANKS = /[^\S\n]{2,}|[^\S\n ]/g;

/** What is looked for in a text that is not all ASCII: tables of Unicode are behind it. */
const foreign = once(() => ({
  invisible: new RegExp(`[${HIDDEN}]`, "gu"),
  lookalike: new RegExp(`[${[...lookalikes().keys()].join("")}]`, "gu"),
  /** What stands between Chinese characters that stand alone, one after another. */
  spaced: new RegExp(`(?<=${HAN})[ ._*|·•-]{1,3}(?=${HAN})`, "gu"),
}));

/**
 * A text as the rules read it: small letters of one width and script, without invisible characters, with the words put
 * together again that were taken apart, and what is written in tag characters in the open.
 */
export function undisguise(text: string): string {
  let plain = text;
  if (NON_ASCII.test(text)) {
    const { invisible, lookalike, spaced } = foreign();
    plain = plain
      .replace(TAGS, (tag) => String.fromCharCode((tag.codePointAt(0) ?? 0) - 0xe0000))
      // Before they are put in order: of a long row of marks that takes time by its square.
      .replace(invisible, "")
      .normalize("NFKD")
      .replace(invisible, "")
      .normalize("NFKC")
      .toLowerCase()
      .replace(lookalike, (character) => lookalikes().get(character) ?? character)
      .replace(spaced, "");
  } else {
    plain = plain.toLowerCase();
  }
  plain = plain.replace(BLANKS, " ").replace(SPACED, (letters) => letters.replace(/[ ._*|-]/g, ""));
  if (!SIGN_IN_WORD.test(plain)) return plain;
  return plain.replace(LEET, (word) => word.replace(/[013457@$]/g, (sign) => LEET_LETTERS[sign] ?? sign));
}

const BASE64 = /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,8000}={0,2}/g;
const MOST_DECODED = 3;

/** The texts that a text holds in base64. */
export function hiddenTexts(text: string): string[] {
  const found: string[] = [];
  for (const [candidate] of text.matchAll(BASE64)) {
    const decoded = decode(candidate);
    if (decoded !== null) found.push(decoded);
    if (found.length === MOST_DECODED) break;
  }
  return found;
}

function decode(base64: string): string | null {
  try {
    const bytes = Uint8Array.from(atob(base64.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
