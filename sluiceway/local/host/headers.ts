/** Headers as they were sent: order, case and repeats are kept, since a signature may cover them. */

import type { IncomingMessage } from "node:http";

const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Flat list of names and values, without those that concern one connection only and those in `drop` (lower case). */
export function passedOn(message: IncomingMessage, drop: readonly string[] = []): string[] {
  const raw = message.rawHeaders;
  const named = new Set((message.headers.connection ?? "").toLowerCase().split(/\s*,\s*/));
  const kept: string[] = [];
  for (let at = 0; at < raw.length; at += 2) {
    const name = (raw[at] ?? "").toLowerCase();
    if (HOP_BY_HOP.has(name) || named.has(name) || drop.includes(name)) continue;
    kept.push(raw[at] ?? "", raw[at + 1] ?? "");
  }
  return kept;
}

/** Names of the headers by which miniflare's entry is told which Worker to ask and which URL to believe. */
export function steering(message: IncomingMessage): string[] {
  return Object.keys(message.headers).filter((name) => name.startsWith("mf-"));
}
