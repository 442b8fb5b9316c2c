import { ApiError } from "../../errors.ts";

/** The one page of the admin endpoints, and what it calls. */
const PAGE = "/_sluiceway/rollouts/dashboard";
const BELOW = "/_sluiceway/rollouts";
const MARK = "x-sluiceway-dashboard";
const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i;

/**
 * The password that a browser sends along by itself (HTTP Basic, any user name), or null. It counts for the dashboard
 * and what that calls, and nowhere else.
 */
export function passwordOf(request: Request): string | null {
  const path = new URL(request.url).pathname;
  if (path !== BELOW && !path.startsWith(`${BELOW}/`)) return null;
  const sent = BASIC.exec(request.headers.get("authorization")?.trim() ?? "")?.[1];
  if (sent === undefined) return null;
  try {
    const text = new TextDecoder().decode(Uint8Array.from(atob(sent), (letter) => letter.charCodeAt(0)));
    const colon = text.indexOf(":");
    return colon < 0 ? null : text.slice(colon + 1);
  } catch {
    return null;
  }
}

/** What a refused caller may send instead: a browser is asked for the key on the dashboard, and by its own calls. */
export function challengeFor(request: Request): string {
  const asks = new URL(request.url).pathname === PAGE || request.headers.get(MARK) === "1";
  return asks ? 'Basic realm="Sluiceway: the admin key is the password", charset="UTF-8"' : "Bearer";
}

/**
 * A browser sends the password with what any page makes it send. So a call must carry a header that no other site can
 * add without asking first, which nothing here answers; and a change must come from our own origin. Throws the 403.
 */
export function refuseForeign(request: Request): void {
  const { pathname, origin } = new URL(request.url);
  const reads = request.method === "GET" || request.method === "HEAD";
  if (pathname === PAGE && reads) return;
  if (request.headers.get(MARK) === "1" && (reads || request.headers.get("origin") === origin)) return;
  throw new ApiError(403, "not_the_dashboard", "With a password, only the dashboard's own page may call this.");
}
