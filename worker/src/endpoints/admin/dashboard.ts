import { encoder, sha256 } from "../../digest.ts";
import type { GatewayContext } from "../../gateway.ts";
import { pageOf, STYLE } from "./dashboard-page.ts";
import { scriptText } from "./dashboard-script.ts";

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
};
let made: { readonly page: Uint8Array; readonly policy: string } | null = null;

/** `GET /rollouts/dashboard`: the rollouts as a page. It runs its own script, whose digest it names, and no other. */
export async function dashboard(c: GatewayContext): Promise<Response> {
  made ??= await make();
  const { page, policy } = made;
  c.get("record").bytesOut = page.byteLength;
  return new Response(page, { headers: { ...HEADERS, "content-security-policy": policy } });
}

/** Once asked for: few isolates ever are. */
async function make(): Promise<NonNullable<typeof made>> {
  const script = scriptText();
  return { page: encoder.encode(pageOf(script)), policy: await policyOf(script, STYLE) };
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
