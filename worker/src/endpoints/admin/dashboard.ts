import { sha256 } from "../../digest.ts";
import type { GatewayContext } from "../../gateway.ts";
import { PAGE, STYLE } from "./dashboard-page.ts";
import { SCRIPT } from "./dashboard-script.ts";

const page = new TextEncoder().encode(PAGE);
const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};
let policy: string | null = null;

/** `GET /rollouts/dashboard`: the rollouts as a page. It runs its own script, whose digest it names, and no other. */
export async function dashboard(c: GatewayContext): Promise<Response> {
  policy ??= await policyOf(SCRIPT, STYLE);
  c.get("record").bytesOut = page.byteLength;
  return new Response(page, { headers: { ...HEADERS, "content-security-policy": policy } });
}

async function policyOf(script: string, style: string): Promise<string> {
  const [scripts, styles] = await Promise.all([script, style].map(source));
  return [
    "default-src 'none'",
    `script-src ${scripts}`,
    `style-src ${styles}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

async function source(text: string): Promise<string> {
  return `'sha256-${btoa(String.fromCharCode(...(await sha256(text))))}'`;
}
