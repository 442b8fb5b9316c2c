import { execFileSync } from "node:child_process";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHROMIUM, openChromium, WHY_SKIPPED } from "./chromium.ts";

/** What of a chart is words, and how large each is on the screen, in CSS pixels. */
const WORDS = `[...document.querySelectorAll("svg text")].map((text) => {
  const { left, right, height } = text.getBoundingClientRect();
  return { text: text.textContent, left, right, height };
})`;
/** By the two ends of what may lie over each other: words of one chart that do. */
const CLASHES = `[...document.querySelectorAll("svg")].flatMap((svg) => {
  const boxes = [...svg.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
  return boxes.flatMap(([name, a], at) => boxes.slice(at + 1).filter(([, b]) =>
    a.left < b.right && b.left < a.right && a.top < b.bottom - 1 && b.top < a.bottom - 1).map(([other]) => name + " / " + other));
})`;
/** How much lighter one of two colours is than the other, as WCAG has it. */
const CONTRAST = `(() => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[0-9.]+/g).map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const page = light(getComputedStyle(document.body).backgroundColor);
  const ratio = (colour) => (Math.max(page, light(colour)) + 0.05) / (Math.min(page, light(colour)) + 0.05);
  const of = (selector, name) => ratio(getComputedStyle(document.querySelector(selector))[name]);
  return { page, ink: of("body", "color"), word: of("svg text", "fill"), ways: [of(".way.arm0", "stroke"), of(".way.arm1", "stroke")] };
})()`;

interface Word {
  readonly text: string;
  readonly left: number;
  readonly right: number;
  readonly height: number;
}

describe.skipIf(CHROMIUM === null)(`a rollout's report in Chromium${WHY_SKIPPED}`, () => {
  let browser: Browser;
  let html: string;
  let context: BrowserContext;

  beforeAll(async () => {
    html = execFileSync(".venv/bin/python", ["-m", "tests.unit.rollouts.sample_report"], { encoding: "utf8" });
    browser = await openChromium();
  });
  afterAll(() => browser?.close());

  async function open(options: Parameters<Browser["newContext"]>[0], see: (page: Page) => Promise<void>) {
    const faults: string[] = [];
    context = await browser.newContext(options);
    const page = await context.newPage();
    page.on("console", (line) => faults.push(line.text()));
    page.on("request", (request) => faults.push(request.url()));
    await page.setContent(html);
    await see(page);
    await context.close();
    expect(faults).toEqual([]);
  }

  it("draws both versions' times and cost, and asks for nothing", async () => {
    await open({ colorScheme: "light" }, async (page) => {
      expect(await page.locator("figcaption").allTextContents()).toEqual([
        expect.stringContaining("Time to first token"),
        expect.stringContaining("Time to the whole answer"),
        expect.stringContaining("Cost of a request over time"),
      ]);
      for (const kind of ["shape", "way"]) {
        for (const arm of ["arm0", "arm1"]) {
          const box = await page.locator(`.${kind}.${arm}`).first().boundingBox();
          expect(box?.width, `${kind} ${arm}`).toBeGreaterThan(20);
        }
      }
      expect(await page.evaluate(CLASHES)).toEqual([]);
    });
  });

  it("is read on a phone: nothing is cut off, and no word is smaller than nine pixels", async () => {
    await open({ viewport: { width: 375, height: 700 }, isMobile: true, hasTouch: true }, async (page) => {
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(375);
      const words = (await page.evaluate(WORDS)) as Word[];
      expect(words.length).toBeGreaterThan(10);
      for (const { text, left, right, height } of words) {
        expect(height, text).toBeGreaterThan(9);
        expect(Math.min(left, 375 - right), text).toBeGreaterThanOrEqual(0);
      }
      expect(await page.evaluate(CLASHES)).toEqual([]);
    });
  });

  it.each(["light", "dark"] as const)("can be read in %s", async (colorScheme) => {
    await open({ colorScheme }, async (page) => {
      const seen = (await page.evaluate(CONTRAST)) as { page: number; ink: number; word: number; ways: number[] };
      expect(seen.page > 0.5).toBe(colorScheme === "light");
      expect(Math.min(seen.ink, seen.word)).toBeGreaterThan(4.5);
      // Lines that mean something.
      expect(Math.min(...seen.ways)).toBeGreaterThan(3);
    });
  });

  it("is printed black on white from a dark screen too, with every decision's numbers", async () => {
    await open({ colorScheme: "dark", viewport: { width: 718, height: 900 } }, async (page) => {
      await page.emulateMedia({ media: "print", colorScheme: "dark" });
      const seen = (await page.evaluate(CONTRAST)) as { page: number; ink: number };
      expect([seen.page > 0.9, seen.ink > 10]).toEqual([true, true]);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(718);
      const told = page.locator("details li").first();
      expect((await told.boundingBox())?.height).toBeGreaterThan(5);
      expect((await page.pdf({ format: "A4" })).byteLength).toBeGreaterThan(10_000);
    });
  });
});
