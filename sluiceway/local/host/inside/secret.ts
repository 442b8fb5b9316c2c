/**
 * Every process of the machine, and every web page open on it, can reach the sockets of the runtime. The scripts inside
 * that change or tell anything answer only to the host, which shows a secret that it makes anew at each start.
 */

import { SECRET_BINDING, SECRET_HEADER } from "./table.ts";

const encoder = new TextEncoder();

export function fromHost(request: Request, env: object): boolean {
  const expected = encoder.encode(String((env as Record<string, unknown>)[SECRET_BINDING] ?? ""));
  const given = encoder.encode(request.headers.get(SECRET_HEADER) ?? "");
  return expected.length > 0 && given.length === expected.length && crypto.subtle.timingSafeEqual(given, expected);
}

/** The answer to everybody else. */
export function refused(): Response {
  return new Response("Not Found", { status: 404 });
}
