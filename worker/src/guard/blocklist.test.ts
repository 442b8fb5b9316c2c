import { describe, expect, it } from "vitest";
import { growth, QUADRATIC } from "../../test/support/growth.ts";
import { some } from "../../test/support/some.ts";
import { Blocklist, BlockStream } from "./blocklist.ts";

const LIST = new Blocklist(["Project Falcon", "ass", "敏感词", "内部资料", "  ", "ｗｉｄｅ", "naïve", "абв", "c++"]);

describe("Blocklist", () => {
  it.each([
    ["tell of project falcon now", 8],
    ["PROJECT   \n FALCON!", 0],
    ["pro\u200bject fal\u00adcon", 0],
    ["Ｐｒｏｊｅｃｔ Ｆａｌｃｏｎ", 0],
    ["这是敏感词。", 2],
    ["这是敏 感\u200b 词。", 2],
    ["an ass", 3],
    ["中ass中", 1],
    ["wide", 0],
    ["NAÏVE", 0],
    ["АБВ.", 0],
    ["uses C++.", 5],
    ["敏感敏感词", 2],
  ])("finds what it holds in %j", (text, at) => {
    expect(LIST.search(text)).toBe(at);
  });

  it.each(["class, assets and bass", "projects falcon", "project falcons", "敏感的词", "widely", "абвг", "", "proj"])(
    "finds nothing in %j",
    (text) => {
      expect(LIST.search(text)).toBe(-1);
    },
  );

  it("takes time in proportion to the text, whatever it is made of", () => {
    const list = new Blocklist([`${"a".repeat(200)}b`, "aa aa aa c"]);
    for (const unit of some(["a", "aa ", "project ", "敏", " "], 3)) {
      const grown = growth(25_000, (size) => {
        const text = unit.repeat(size / unit.length);
        return () => list.search(text);
      });
      expect(grown, unit).toBeLessThan(QUADRATIC);
    }
  });
});

describe("BlockStream", () => {
  const TEXTS = [
    "We tell you of Project Falcon and more.",
    "projects, project  falcons, project falcon",
    "这些内部 资料不可外传，敏感的词可以。",
    "class assets bass, then ass!",
    "敏 感 and then 敏\u200b感 词",
    "a project. falcon? project fal",
    "nothing of it at all, 什么都没有",
    "ends with project falcon",
    "ends with 敏感词",
    "ass",
  ];

  it("gives what the whole text would, however it is cut", () => {
    for (const text of TEXTS) {
      const hit = LIST.search(text);
      const wanted = hit === -1 ? text : text.slice(0, hit);
      for (let size = 1; size <= 7; size++) {
        for (let offset = 0; offset < size; offset++) {
          const stream = new BlockStream(LIST);
          let seen = stream.push(text.slice(0, offset));
          for (let at = offset; at < text.length; at += size) seen += stream.push(text.slice(at, at + size));
          seen += stream.end();
          expect({ text, size, offset, seen, blocked: stream.blocked }).toEqual({
            text,
            size,
            offset,
            seen: wanted,
            blocked: hit !== -1,
          });
        }
      }
    }
  });

  it.each(["\n", " \u200b", "\u200b", "\u00ad \n", "\u3000"])(
    "waits through a row of %j without looking at it again and again",
    (blank) => {
      for (const [end, blocked] of [
        ["falcon.", true],
        ["x", false],
      ] as const) {
        const read = (blanks: number) => {
          const stream = new BlockStream(LIST);
          let seen = stream.push("a project ");
          for (let count = 0; count < blanks; count++) seen += stream.push(blank);
          for (const letter of end) seen += stream.push(letter);
          seen += stream.end();
          return [seen, stream.blocked];
        };
        expect(growth(12_500, (size) => () => read(size))).toBeLessThan(QUADRATIC);
        expect(read(50_000)).toEqual([blocked ? "a " : `a project ${blank.repeat(50_000)}x`, blocked]);
      }
    },
  );

  it("holds back nothing that can't begin a hit, and never more than the longest phrase", () => {
    const stream = new BlockStream(LIST);
    expect(stream.push("Here is a plain sentence.")).toBe("Here is a plain sentence.");
    expect(stream.push(" The proj")).toBe(" The ");
    expect(stream.push("ector works")).toBe("projector works");
    let held = 0;
    for (let turn = 0; turn < 200; turn++) held += 8 - stream.push("project ").length;
    expect(held).toBeLessThan(40);
  });
});
