import type { Miniflare } from "miniflare";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { JournalEntry, RolloutSpec } from "../src/rollout/types.ts";
import { AiServer, startBundled } from "./bundled-stage.ts";
import { CHROMIUM, openChromium, WHY_SKIPPED } from "./chromium.ts";
import { PAGE } from "./fake-rollouts.ts";

const KEY = "test-admin-key-0123456789";
const ROLLOUT: RolloutSpec = {
  ...{ strategy: "canary", stable: 1, candidates: [2], arms: [], alpha: 0.01, beta: 0.05, absolute: 0.2, control: 1 },
  steps: [50, 100].map((weight) => ({ weight, hold_s: 3_600, approval: false, margins: {} })),
  gates: [{ name: "errors", margin: 0.02, slo: null, mode: "enforce" }],
  ...{ min_fail: 10, min_bad: 3, min_pass: 50, checks: [], watch_s: 3_600, warm_s: 0, on_fail: "rollback" },
  ...{ no_control: "hold", grace_s: 60, mirror: 0, attempt: 0 },
};
const VERSION = { backend: "workers-ai", id: "@cf/zai-org/glm-4.7-flash" };
const MODEL = { task: "chat", versions: { "1": VERSION, "2": VERSION }, split: [[1, 100]], rollout: ROLLOUT };
const CONFIG = {
  ...{ stage: "test", release: "r-0123456789ab", worker: "sluiceway-test", gateway: null },
  models: { chat: { ...MODEL, default: true }, other: MODEL },
  ...{ cors: { origins: [], max_age: 0 }, limits: { body_bytes: 1_048_576, requests: 100_000, period: 60 } },
  ...{ cache: { enabled: false, ttl: 0 }, auth: { required: true }, log: { prompts: false } },
};

describe.skipIf(CHROMIUM === null)(`the dashboard of a stage with the real controller${WHY_SKIPPED}`, () => {
  const ai = new AiServer();
  let mf: Miniflare;
  let url: URL;
  let browser: Browser;

  beforeAll(async () => {
    ({ mf, url } = await startBundled(CONFIG, await ai.start()));
    browser = await openChromium();
  });
  afterAll(async () => {
    await browser?.close();
    await mf?.dispose();
    await ai.stop();
  });

  async function open(): Promise<Page> {
    const page = await (await browser.newContext()).newPage();
    const own = new URL(PAGE, url);
    own.username = "ann";
    own.password = KEY;
    await page.goto(own.href);
    await page.getByRole("article", { name: "chat" }).waitFor();
    return page;
  }

  /** The versions that answer thirty callers, each with a conversation of their own. */
  async function answering(): Promise<string[]> {
    const asked = Array.from({ length: 30 }, (_, at) => {
      const body = JSON.stringify({
        model: "chat",
        user: `user-${at}`,
        messages: [{ role: "user", content: `Hi ${at}` }],
      });
      return fetch(new URL("/v1/chat/completions", url), {
        method: "POST",
        headers: { authorization: "Bearer test-key" },
        body,
      });
    });
    const answers = await Promise.all(asked);
    await Promise.all(answers.map((answer) => answer.arrayBuffer()));
    return [...new Set(answers.map(({ headers }) => headers.get("x-sluiceway-model") ?? ""))].sort();
  }

  async function journal(): Promise<JournalEntry[]> {
    const headers = { authorization: `Bearer ${KEY}` };
    const answer = await fetch(new URL("/_sluiceway/rollouts/journal?limit=1000", url), { headers });
    return ((await answer.json()) as { entries: JournalEntry[] }).entries;
  }

  async function press(page: Page, name: string, done: string): Promise<void> {
    await page.getByRole("button", { name, exact: true }).click();
    await page.getByRole("button", { name: done, exact: true }).click();
  }

  it("brings the old answers back by one button", async () => {
    const page = await open();
    await page.getByText("chat@2 50 %", { exact: true }).first().waitFor();
    expect(await answering()).toEqual(["chat@1", "chat@2"]);
    await press(page, "Roll back chat", "Roll back");
    await page.locator("article", { hasText: "chat aborted" }).waitFor();
    await expect.poll(answering, { timeout: 10_000 }).toEqual(["chat@1"]);
    const [last] = (await journal()).filter(({ model }) => model === "chat").slice(-1);
    expect(last).toMatchObject({ kind: "aborted", cause: "person:dashboard", phase: "aborted" });
    expect(await page.locator("#journal li").first().textContent()).toContain(last?.sentence);
  });

  it("makes one transition of two people who press at once, and tells the other one", async () => {
    const pages = [await open(), await open()] as const;
    for (const page of pages) {
      await page.getByRole("button", { name: "Promote other", exact: true }).click();
    }
    await Promise.all(pages.map((page) => page.getByRole("button", { name: "Promote", exact: true }).click()));
    const refusals = () =>
      Promise.all(pages.map(async (page) => (await page.locator("#refused").textContent()) !== ""));
    await expect.poll(async () => (await refusals()).filter(Boolean).length, { timeout: 10_000 }).toBe(1);
    const moves = (await journal()).filter(({ model, kind }) => model === "other" && kind === "promoted");
    expect(moves).toHaveLength(1);
  });
});
