import { describe, expect, it } from "vitest";
import { growth, QUADRATIC, slowdown } from "../../test/support/growth.ts";
import { some } from "../../test/support/some.ts";
import { mask, maskForLog, maskJson } from "./mask.ts";
import { MaskStream } from "./mask-stream.ts";

/** A seeded source of numbers in `[0, 1)`. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) | 0;
    return ((state ^ (state >>> 13)) >>> 0) / 2 ** 32;
  };
}

const pem = `-----BEGIN RSA PRIVATE ${"KEY"}-----\nMIIEow${"IBAAKCAQEA7".repeat(60)}\n-----END RSA PRIVATE ${"KEY"}-----`;
const jwt = `${"eyJ"}hbGciOiJIUzI1NiJ9.${"eyJ"}zdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U`;

/** Each with what it becomes. Written in parts, so that no scanner of repositories takes them for real ones. */
const SECRETS: [string, string][] = [
  ["ann.lee+news@mail.example.co.uk", "[email]"],
  [`sk-${"proj-"}Abcd1234Efgh5678Ijkl`, "[key]"],
  [`sk-slw-${"k3y1d"}-Zx9Zx9Zx9Zx9Zx9Zx9Zx9`, "[key]"],
  [`gh${"p_"}A1b2C3d4E5f6A1b2C3d4E5f6A1b2C3d4E5f6`, "[key]"],
  [`AK${"IA"}ABCDEFGHIJKLMNOP`, "[key]"],
  [jwt, "[token]"],
  [pem, "[private_key]"],
  ["4111 1111 1111 1111", "[card]"],
  ["6222-0212-3456-7894", "[card]"],
  ["11010519491231002X", "[id]"],
  ["078-05-1120", "[id]"],
  ["GB82 WEST 1234 5698 7654 32", "[iban]"],
  ["13812345678", "[phone]"],
  ["+86 138-1234-5678", "[phone]"],
  ["010-62345678", "[phone]"],
  ["+44 20 7946 0958", "[phone]"],
  ["+44 (0)20 7946 0958", "[phone]"],
  ["+86(10)62345678", "[phone]"],
  ["+8613812345678", "[phone]"],
  ["+1 (212) 555-0100", "[phone]"],
  ["(415) 555-2671", "[phone]"],
  ["password=hunter22", "password=[secret]"],
  ['"api_key": "a1b2c3d4e5"', '"api_key": "[secret]"'],
  ["密码：Passw0rd!", "密码：[secret]"],
  ["口令是 abc12345", "口令是 [secret]"],
  ["My password is hunter22", "My password is [secret]"],
  ["Authorization: Bearer abcdefghij0123456789", "Authorization: Bearer [token]"],
  ["postgres://app:s3cr3t@db.example.com/main", "postgres://app:[password]@db.example.com/main"],
];

const HARMLESS = [
  "The year 2026, version 1.2.3, port 8080, 1,234,567 users and 3.14159265358979.",
  "Order 4111 1111 1111 1112 has no valid check digit.",
  "身份证号 110105194912310021 的校验位不对，订单号 20261130123456789。",
  "const apiKey = process.env.API_KEY; password: string; password is required;",
  "密码是什么？请输入密码：请联系管理员获取",
  "7f9a64a2-3f26-4d2d-b68f-c93c72612929 and a1b2c3d4e5f60718293a4b5c6d7e8f9001122334",
  "See https://example.com/a/b?c=1&d=2#e, or import { a } from '@scope/package';",
  "2026-11-30T16:45:02.123Z took 1234567 ns at 192.168.10.12:8787",
  "0000 0000 0000 0000 ---- sk-learn, risk-adjusted, task_force",
  "decorated by @property, then 5 + 3 = 8 and (2 + 2) * 1000 - 12 = 3988",
];

describe("mask", () => {
  it.each(SECRETS)("masks %s alone, in a sentence, in Chinese and in brackets", (secret, masked) => {
    for (const [before, after] of [
      ["", ""],
      ["Please use ", " today."],
      ["请看（", "），谢谢。"],
      ["\n<", ">\n"],
    ]) {
      expect(mask(`${before}${secret}${after}`).text).toBe(`${before}${masked}${after}`);
    }
  });

  it.each(HARMLESS)("leaves %j as it is", (text) => {
    expect(mask(text)).toEqual({ text, kinds: [] });
  });

  it("tells the kinds of what it masked, each once", () => {
    const { kinds } = mask("a@b.com, c@d.org and 13812345678");
    expect(kinds.toSorted()).toEqual(["email", "phone"]);
  });

  it("finds a number behind digits that are none", () => {
    expect(mask("in 2024 4111 1111 1111 1111 was charged").text).toBe("in 2024 [card] was charged");
  });

  it("is what logs go through", () => {
    expect(maskForLog("mail ann@example.com")).toBe("mail [email]");
  });

  it("takes time in proportion to the text, whatever it is made of", () => {
    const units = [
      "a",
      "1",
      "1 ",
      "+1",
      "a.",
      "a@",
      "a@b.",
      "password=",
      "eyJ",
      "-----BEGIN ",
      `-----BEGIN PRIVATE ${"KEY"}-----`,
      "://a:",
      "AB12 ",
      "sk-",
      "1-",
      "a@b.co ",
      '{"a":13812345678},',
    ];
    for (const unit of some(units, 3)) {
      const grown = growth(50_000, (size) => {
        const text = unit.repeat(size / unit.length);
        return () => [mask(text), maskJson(text)];
      });
      expect(grown, unit).toBeLessThan(QUADRATIC);
    }
  });

  it("takes no long number apart in all the ways that there are", () => {
    // A secret in every few letters of a JSON without quotes costs about what it does in a plain text.
    const secrets = "13812345678,".repeat(20_000);
    const asJson = slowdown(
      () => mask(secrets),
      () => maskJson(secrets),
    );
    expect(asJson).toBeLessThan(4);
    // Nor does what looks like numbers cost many times what true ones do.
    const numbers = "+44 20 7946 0958, ".repeat(100_000 / 18);
    for (const unit of [" +11111111111111111111111a", " +1(1)1(1)1(1)1(1)1(1)1a", " +1 11 11 11 11 11 11a"]) {
      const text = unit.repeat(100_000 / unit.length);
      const cost = slowdown(
        () => mask(numbers),
        () => mask(text),
      );
      expect(cost, unit).toBeLessThan(4);
    }
  });
});

describe("maskJson", () => {
  it.each([
    [{ to: "ann@example.com", body: 'line\nann@example.com "quoted" \\ 13812345678\u0001' }],
    [{ phone: 13812345678, cards: [4111111111111111, "4111 1111 1111 1111"], n: 12 }],
    [{ password: 12345678, nested: { api_key: "a1b2c3d4e5", key: pem } }],
  ])("masks within %j and leaves it JSON", (value) => {
    const text = JSON.stringify(value);
    const masked = maskJson(text).text;
    expect(() => JSON.parse(masked)).not.toThrow();
    expect(masked).not.toMatch(/ann@|1381234|4111|12345678|a1b2c3|MIIE/);
    expect(masked).toMatch(/\[(email|card|secret)\]/);
    expect(masked).toContain(Object.keys(value)[0]);
  });
});

describe("MaskStream", () => {
  const streamed = (text: string, json: boolean, cuts: () => number) => {
    const kinds: string[] = [];
    const filter = new MaskStream(json, (kind) => kinds.push(kind));
    const out: string[] = [];
    for (let at = 0; at < text.length; ) {
      const next = at + 1 + Math.floor(cuts() * 12);
      out.push(filter.push(text.slice(at, next)));
      at = next;
    }
    out.push(filter.end());
    return { text: out.join(""), kinds: [...new Set(kinds)].toSorted(), longest: 0 };
  };

  it("masks as if the text were whole, however it is cut", () => {
    const next = random(7);
    const parts = [...SECRETS.map(([secret]) => secret), ...HARMLESS];
    const joints = [" ", ", ", "\n", "。", "，请看：", " (", ") ", '"', ": ", " is ", "是", "-", "1", " 12 ", "x"];
    const pick = <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)] as T;
    for (let turn = 0; turn < 800; turn++) {
      let text = "";
      for (let n = 0; n < 1 + next() * 6; n++) text += pick(parts) + pick(joints);
      const whole = mask(text);
      const got = streamed(text, false, next);
      expect({ text, got: got.text, kinds: got.kinds }).toEqual({
        text,
        got: whole.text,
        kinds: whole.kinds.toSorted(),
      });
    }
  });

  it("masks the arguments of a tool call as if they were whole, however they are cut", () => {
    const next = random(8);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)] as T;
    const scalar = () => pick<unknown>([...SECRETS.map(([secret]) => secret), ...HARMLESS, 13812345678, 7, true, null]);
    for (let turn = 0; turn < 500; turn++) {
      const value = { [`k"${turn}`]: scalar(), password: scalar(), list: [scalar(), `a\n${String(scalar())}"`] };
      const text = JSON.stringify(value, null, turn % 2 === 0 ? 0 : 2);
      const got = streamed(text, true, next).text;
      expect({ text, got }).toEqual({ text, got: maskJson(text).text });
      expect(() => JSON.parse(got)).not.toThrow();
    }
  });

  it("lets prose go word by word", () => {
    const filter = new MaskStream(false, () => {});
    const words = "The quick brown fox 跳过了那只懒狗， and then it slept.".match(/\s*\S{1,7}/g) ?? [];
    let said = "";
    let seen = "";
    for (const word of words) {
      said += word;
      seen += filter.push(word);
      expect(said.length - seen.length).toBeLessThanOrEqual(12);
    }
  });

  it.each([
    ["a word without an end", "x".repeat(50_000)],
    ["numbers without an end", "12 34 ".repeat(10_000)],
    ["a token without an end", `${"eyJ"}${"a".repeat(30_000)}`],
    ["a key without an end", `${pem.slice(0, 60)}${"A".repeat(30_000)}`],
  ])("holds back no more than a bound of %s", (_, text) => {
    const filter = new MaskStream(false, () => {});
    let said = 0;
    let seen = 0;
    let masked = "";
    for (let at = 0; at < text.length; at += 10) {
      const out = filter.push(text.slice(at, at + 10));
      said += 10;
      seen += out.length;
      masked += out;
      if (!/\[\w+\]/.test(masked)) expect(said - seen).toBeLessThan(1_100);
    }
    if (/^(eyJ|---)/.test(text)) expect(masked + filter.end()).toMatch(/^\[(token|private_key)\]$/);
  });

  it("goes on after a hit that was longer than what it holds back", () => {
    const long = `${"eyJ"}${"a".repeat(5_000)}`;
    expect(streamed(`see ${long} and ${long}, ann@example.com.`, false, random(3)).text).toBe(
      "see [token] and [token], [email].",
    );
    const key = `${pem.slice(0, 60)}${"A\n".repeat(3_000)}-----END RSA PRIVATE ${"KEY"}-----`;
    expect(streamed(`${key} bye`, false, random(4)).text).toBe("[private_key] bye");
  });
});
