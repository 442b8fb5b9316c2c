import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import type { Plugin } from "esbuild";
import type { Miniflare } from "miniflare";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { AiServer, bundleGateway, startBundled } from "./bundled-stage.ts";
import { CHROMIUM, openChromium, WHY_SKIPPED } from "./chromium.ts";
import { FakeRollouts, gateOf, PAGE, viewOf } from "./fake-rollouts.ts";

const KEY = "test-admin-key-0123456789";
const CONFIG = {
  ...{ stage: "test", release: "r-0123456789ab", worker: "sluiceway-test", gateway: null },
  models: {
    chat: {
      task: "chat",
      default: true,
      versions: { "1": { backend: "workers-ai", id: "@cf/x/y" } },
      split: [[1, 100]],
    },
  },
  ...{ cors: { origins: [], max_age: 0 }, limits: { body_bytes: 1_048_576, requests: 1000, period: 60 } },
  ...{ cache: { enabled: true, ttl: 60 }, auth: { required: true }, log: { prompts: false } },
};

it("the dashboard weighs less than 6 kB in the bundle, gzipped", async () => {
  const contents = "export const dashboard = () => new Response();";
  const without: Plugin = {
    name: "without",
    setup: (build) => build.onLoad({ filter: /\/admin\/dashboard\.ts$/ }, () => ({ contents })),
  };
  const [all, rest] = await Promise.all([bundleGateway(), bundleGateway([without])]);
  const weight = gzipSync(all).byteLength - gzipSync(rest).byteLength;
  expect(weight).toBeGreaterThan(1_000);
  expect(weight).toBeLessThan(6_000);
});

describe.skipIf(CHROMIUM === null)(`the dashboard in Chromium${WHY_SKIPPED}`, () => {
  const ai = new AiServer();
  let mf: Miniflare;
  let worker: URL;
  let browser: Browser;
  let fake: FakeRollouts;
  let context: BrowserContext;
  let page: Page;
  let url: URL;
  let faults: string[];

  beforeAll(async () => {
    ({ mf, url: worker } = await startBundled(CONFIG, await ai.start()));
    browser = await openChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await mf?.dispose();
    await ai.stop();
  });
  beforeEach(async () => {
    fake = new FakeRollouts(worker);
    fake.set(viewOf("chat"));
    fake.tell("chat", "chat: chat@2 begins at 1 %.", { kind: "start", weights: [[1, 99] as const, [2, 1] as const] });
    fake.tell("chat", "chat: chat@2 goes from 1 % to 10 %.");
    url = new URL(PAGE, await fake.start());
    await fresh();
  });
  afterEach(async () => {
    await context.close();
    await fake.stop();
  });

  async function fresh(options: Parameters<Browser["newContext"]>[0] = {}): Promise<void> {
    await context?.close();
    context = await browser.newContext(options);
    page = await context.newPage();
    faults = [];
    page.on("pageerror", (error) => faults.push(String(error)));
    page.on("console", (line) => {
      // The browser notes each 401 by which it is asked for the password.
      if (line.type() === "error" && !line.text().includes("401")) faults.push(line.text());
    });
  }

  /** As a person does: the password goes to the browser once, which then keeps it. */
  async function open(): Promise<void> {
    const own = new URL(url);
    own.username = "ann";
    own.password = KEY;
    await page.goto(own.href);
    await page.locator("article").first().waitFor();
  }

  const text = (selector: string) => page.locator(selector).textContent();
  const press = (name: string) => page.getByRole("button", { name, exact: true }).click();

  it("shows weights, gates with their bounds, the time that is left, and the journal", async () => {
    fake.set(viewOf("chat", { gates: [gateOf(), gateOf({ name: "latency", slo: 8, verdict: "pass", reason: null })] }));
    await open();
    expect(await text("h1")).toBe("Rollouts of test");
    expect(await text("article h2")).toBe("chat stepping");
    expect(await text(".way")).toBe("canary: chat@1 to chat@2, step 2 of 4");
    expect(await page.getByRole("img", { name: "chat@1 90 %, chat@2 10 %", exact: true }).count()).toBe(1);
    expect(await page.locator("article li").allTextContents()).toEqual(["chat@1 90 %", "chat@2 10 %"]);
    expect(await page.getByRole("timer").textContent()).toMatch(/^(10:00|09:\d\d) left$/);
    const rows = page.locator("tbody tr");
    expect(await rows.locator("th").allTextContents()).toEqual(["errors", "latency (8 s)"]);
    expect(await rows.first().textContent()).toMatch(
      /9 of 900 \(1\.0 %\)1 of 100 \(1\.0 %\)-3\.0 to \+5\.0, margin \+2\.0/,
    );
    expect(await rows.locator("td.pass").textContent()).toContain("pass");
    expect(await page.locator(".chart polygon").count()).toBe(2);
    expect((await page.locator("#journal li").allTextContents())[0]).toMatch(
      /, clockchat: chat@2 goes from 1 % to 10 %\.$/,
    );
    expect(faults).toEqual([]);
  });

  it("shows the median of each version's times, where there are any", async () => {
    const version = { requests: 4, first_token: [], total: [...Array<number>(39).fill(0), 1, 3], cost: [] };
    const versions = [
      { ...version, version: 1, first_token: [...Array<number>(30).fill(0), 4] },
      { ...version, version: 2 },
    ];
    fake.set(viewOf("chat", { figures: { since: 0, slot_ms: 10_000, per_doubling: 4, versions } }));
    await open();
    expect(await page.locator(".median").allTextContents()).toEqual([
      "chat@1: half of 4 within 1.2 s, first token 0.22 s",
      "chat@2: half of 4 within 1.2 s, first token -",
    ]);
    expect(faults).toEqual([]);
  });

  it("follows what happens, and says each transition to a screen reader", async () => {
    await open();
    const news = page.getByRole("status");
    expect([await news.textContent(), await news.getAttribute("aria-live")]).toEqual(["", "polite"]);
    fake.set(
      viewOf("chat", {
        phase: "rolled-back",
        weights: [[1, 100] as const],
        until: null,
        waiting: "chat: errors fail.",
      }),
    );
    fake.tell("chat", "chat: rolled back to chat@1: errors fail.", { kind: "rolled-back", cause: "gate:errors" });
    await page.getByText("chat rolled-back").waitFor();
    expect(await news.textContent()).toBe("chat: rolled back to chat@1: errors fail.");
    expect(await page.getByRole("timer").textContent()).toBe("");
    expect(await page.getByRole("button", { name: "Promote chat", exact: true }).isDisabled()).toBe(true);
  });

  it("sends what a person has confirmed, with the revision that they saw, and nothing before", async () => {
    await open();
    await press("Promote chat");
    const dialog = page.getByRole("dialog", { name: "Promote the rollout of chat?" });
    expect(await dialog.textContent()).toContain("Now: chat@1 90 %, chat@2 10 %.");
    await press("Cancel");
    expect(await dialog.isVisible()).toBe(false);
    expect(fake.commands).toEqual([]);
    await press("Promote chat");
    await page.getByLabel("Your name, for the journal").fill("ann");
    await page.getByLabel("Reason, if you like").fill("looks well");
    await press("Promote");
    await page.getByText("chat watching").waitFor();
    expect(fake.commands).toEqual([
      { path: "/_sluiceway/rollouts/chat/promote", body: { actor: "ann", reason: "looks well", expect: 7 } },
    ]);
    expect(await page.locator("article li").allTextContents()).toEqual(["chat@1 1 %", "chat@2 99 %"]);
    expect(faults).toEqual([]);
  });

  it("pauses, resumes and rolls back, and knows the name again", async () => {
    await open();
    for (const [name, done, shown] of [
      ["Pause chat", "Pause", "chat paused"],
      ["Resume chat", "Resume", "chat stepping"],
      ["Roll back chat", "Roll back", "chat aborted"],
    ] as const) {
      await press(name);
      await page.getByLabel("Your name, for the journal").fill("ann");
      await press(done);
      await page.getByText(shown).waitFor();
      await page.reload();
      await page.getByText(shown).waitFor();
    }
    expect(fake.commands.map(({ path }) => path.split("/").at(-1))).toEqual(["pause", "resume", "rollback"]);
    expect(await page.evaluate("localStorage.getItem('who')")).toBe("ann");
  });

  it("of two people who press at once one is told that it has moved", async () => {
    await open();
    await press("Roll back chat");
    fake.set(viewOf("chat", { revision: 8 }));
    await press("Roll back");
    await page.getByText("chat has moved since then. Look once more.").waitFor();
    expect(fake.commands).toEqual([]);
    expect(await page.getByRole("dialog").isVisible()).toBe(true);
  });

  it("shows text as text, whoever wrote it", async () => {
    const evil = "<img src=x onerror=\"document.title='evil'\"><script>document.title='evil'</script>";
    fake.views.clear();
    fake.set(
      viewOf(evil, {
        waiting: evil,
        release: evil,
        gates: [gateOf({ name: evil as "errors", reason: evil as "suspect" })],
      }),
    );
    fake.tell(evil, evil, { cause: evil });
    await open();
    expect(await text(".wait")).toBe(evil);
    expect(await text("#journal li:first-child")).toContain(evil);
    await press(`Roll back ${evil}`);
    await press("Roll back");
    await page.getByText("aborted").waitFor();
    expect(await page.title()).toBe("Rollouts");
    expect([await page.locator("img[src]").count(), await page.locator("script").count()]).toEqual([0, 1]);
    expect(faults).toEqual([]);
  });

  it("keeps what it showed while the gateway does not answer, says so, and goes on", async () => {
    await open();
    fake.away = true;
    await page.getByText(/What you see is from/).waitFor();
    expect(await text("article h2")).toBe("chat stepping");
    fake.away = false;
    fake.set(viewOf("chat", { phase: "paused", until: null }));
    await page.getByText("chat paused").waitFor();
    expect(await text("#fault")).toBe("");
  });

  it("fits a phone: no sideways scrolling of the page, and buttons for fingers", async () => {
    await fresh({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
    fake.set(viewOf("intent-of-a-customer-with-a-very-long-name"));
    await open();
    expect(await page.evaluate("document.documentElement.scrollWidth <= 360")).toBe(true);
    for (const button of await page.locator("article button").all()) {
      const box = await button.boundingBox();
      expect(Math.min(box?.height ?? 0, box?.width ?? 0)).toBeGreaterThanOrEqual(44);
    }
    await press("Pause chat");
    const dialog = await page.getByRole("dialog").boundingBox();
    expect((dialog?.x ?? -1) >= 0 && (dialog?.x ?? 0) + (dialog?.width ?? 999) <= 360).toBe(true);
  });

  it.each(["light", "dark"] as const)("is readable in %s", async (colorScheme) => {
    await fresh({ colorScheme });
    fake.set(
      viewOf("chat", {
        gates: (["pass", "fail", "inconclusive"] as const).map((verdict) => gateOf({ verdict, reason: null })),
      }),
    );
    await open();
    const ratios = (await page.evaluate(CONTRASTS)) as { what: string; ratio: number }[];
    expect(ratios.length).toBeGreaterThan(10);
    expect(ratios.filter(({ ratio }) => ratio < 4.5)).toEqual([]);
    const light = (await page.evaluate("getComputedStyle(document.body).backgroundColor")) === "rgb(255, 255, 255)";
    expect(light).toBe(colorScheme === "light");
  });

  it("is left alone by the pages of other sites, which the browser gives the password too", async () => {
    await open();
    const form = `<form method="post" action="${new URL("/_sluiceway/rollouts/chat/rollback", url).href}"><button>go</button></form>`;
    const site: Server = createServer((_, answer) => answer.writeHead(200, { "content-type": "text/html" }).end(form));
    await new Promise<void>((done) => site.listen(0, "127.0.0.1", done));
    try {
      const other = await context.newPage();
      await other.goto(`http://localhost:${(site.address() as AddressInfo).port}/`);
      const [answer] = await Promise.all([other.waitForNavigation(), other.getByRole("button").click()]);
      expect(answer?.status()).toBe(403);
      await other.goBack();
      const called = other.evaluate(
        `fetch(${JSON.stringify(new URL("/_sluiceway/rollouts/chat/rollback", url).href)}, { method: "POST", credentials: "include", headers: { "x-sluiceway-dashboard": "1" }, body: "{}" })`,
      );
      await expect(called).rejects.toThrow("Failed to fetch");
    } finally {
      site.closeAllConnections();
      site.close();
    }
    expect(fake.commands).toEqual([]);
    expect(fake.views.get("chat")?.phase).toBe("stepping");
  });

  it("has a name for each thing that can be pressed or filled in", async () => {
    await open();
    await press("Pause chat");
    const bare =
      await page.evaluate(`[...document.querySelectorAll("button, input, dialog, svg, [tabindex]")].filter((node) => {
      const name = node.getAttribute("aria-label") || node.textContent.trim() || (node.labels && node.labels.length && node.labels[0].textContent);
      return !name && !node.getAttribute("aria-labelledby");
    }).map((node) => node.outerHTML)`);
    expect(bare).toEqual([]);
    await page.keyboard.press("Escape");
    expect(await page.getByRole("dialog").isVisible()).toBe(false);
    expect(await page.evaluate("document.activeElement.getAttribute('aria-label')")).toBe("Pause chat");
  });
});

/** In the page: the contrast of each piece of text with what is behind it, by WCAG's formula. */
const CONTRASTS = `(() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = (node) => {
    for (let up = node; up; up = up.parentElement) {
      const colour = parts(getComputedStyle(up).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll("body *")].filter((node) => [...node.childNodes].some((kid) => kid.nodeType === 3 && kid.data.trim()))
    .filter((node) => node.checkVisibility() && !node.disabled)
    .map((node) => {
      const [a, b] = [light(parts(getComputedStyle(node).color)), light(behind(node))];
      return { what: node.textContent.slice(0, 40), ratio: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) };
    });
})()`;
