import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const named = process.env.SLUICEWAY_CHROMIUM;

/** A browser is half a minute: one of the long tests. */
const wanted = process.env.SLUICEWAY_TEST_ALL === "1";
const found = (named === undefined ? PLACES : [named]).find((path) => existsSync(path)) ?? null;

/** Where this machine has a Chromium: `SLUICEWAY_CHROMIUM`, else the usual places; null where none is to be opened. */
export const CHROMIUM = wanted ? found : null;

const WHY = wanted
  ? "there is no Chromium here; `apt-get install chromium`, or name one in SLUICEWAY_CHROMIUM"
  : "`make test-all` does";
/** For a test's name: why it is skipped, in words. */
export const WHY_SKIPPED = CHROMIUM === null ? ` (skipped: ${WHY})` : "";
if (CHROMIUM === null) console.warn(`The dashboard is not looked at in a browser: ${WHY}.`);

/** A browser that asks for nothing but what a test opens. */
export function openChromium(): Promise<Browser> {
  const args = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];
  args.push("--disable-component-update", "--disable-sync");
  return chromium.launch({ executablePath: CHROMIUM ?? "", args });
}
