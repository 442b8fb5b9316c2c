/** What Cloudflare's edge adds to a request, and what it does not let a client say about itself. */

import { CLIENT_IP_HEADER } from "./table.ts";

/** Clients of Access and AI Gateway send these themselves. */
const FROM_CLIENTS = /^cf-(access|aig)-/;

export function edgeProperties(): object {
  return {
    colo: "LOC",
    country: "XX",
    asn: 0,
    asOrganization: "local stage",
    httpProtocol: "HTTP/1.1",
    timezone: "UTC",
    tlsVersion: "",
    tlsCipher: "",
    clientAcceptEncoding: "",
  };
}

export function edgeHeaders(given: Headers, url: URL, ip: string, ray: string): Headers {
  const headers = new Headers(given);
  for (const name of [...headers.keys()]) {
    if (name.startsWith("cf-") && !FROM_CLIENTS.test(name)) headers.delete(name);
  }
  headers.delete(CLIENT_IP_HEADER);
  headers.delete("true-client-ip");
  const scheme = url.protocol.slice(0, -1);
  const before = headers.get("x-forwarded-for");
  headers.set("cf-connecting-ip", ip);
  headers.set("cf-ray", `${ray}-LOC`);
  headers.set("cf-ipcountry", "XX");
  headers.set("cf-visitor", JSON.stringify({ scheme }));
  headers.set("x-forwarded-for", before ? `${before},${ip}` : ip);
  headers.set("x-forwarded-proto", scheme);
  headers.set("x-real-ip", ip);
  return headers;
}

export function edgeRequest(request: Request, url: URL, ip: string, cf: object): Request {
  const ray = crypto.randomUUID().replaceAll("-", "").slice(0, 16);
  return new Request(request, {
    headers: edgeHeaders(request.headers, url, ip, ray),
    cf,
    redirect: "manual",
  } as RequestInit);
}
