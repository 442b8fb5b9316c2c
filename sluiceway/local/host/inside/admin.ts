/**
 * KV and R2 from outside. Bound to every namespace (`kv:<id>`) and bucket (`r2:<id>`); answers only to the host,
 * which checks the caller first. The key travels encoded in a header, since a URL path would be normalised ("..", "%2F").
 */

import { fromHost, refused } from "./secret.ts";

interface Env {
  [binding: string]: KVNamespace & R2Bucket;
}

interface Call {
  readonly method: string;
  readonly key: string;
  readonly query: URLSearchParams;
  readonly request: Request;
}

function json(body: unknown, status = 200): Response {
  return Response.json(body, { status });
}

const missing = (what: string): Response => json({ error: { code: 404, message: `${what} not found` } }, 404);

function whole(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  return text === null ? undefined : Number(text);
}

/** Only what is given: the runtime refuses an explicit undefined for some options. */
function given<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}

async function kv(namespace: KVNamespace, { method, key, query, request }: Call): Promise<Response> {
  switch (method) {
    case "PUT": {
      const metadata = request.headers.get("x-kv-metadata");
      const options = given({
        expiration: whole(query, "expiration"),
        expirationTtl: whole(query, "expiration_ttl"),
        metadata: metadata === null ? undefined : JSON.parse(decodeURIComponent(metadata)),
      }) as KVNamespacePutOptions;
      await namespace.put(key, request.body ?? "", options);
      return json({ ok: true });
    }
    case "GET": {
      const found = await namespace.getWithMetadata(key, "stream");
      if (found.value === null) return missing("key");
      const headers = new Headers({ "content-type": "application/octet-stream" });
      if (found.metadata !== null) headers.set("x-kv-metadata", encodeURIComponent(JSON.stringify(found.metadata)));
      return new Response(found.value, { headers });
    }
    default:
      await namespace.delete(key);
      return json({ ok: true });
  }
}

async function kvList(namespace: KVNamespace, query: URLSearchParams): Promise<Response> {
  const page = await namespace.list(
    given({
      prefix: query.get("prefix") ?? undefined,
      limit: whole(query, "limit"),
      cursor: query.get("cursor") ?? undefined,
    }) as KVNamespaceListOptions,
  );
  return json({ keys: page.keys, list_complete: page.list_complete, cursor: page.list_complete ? null : page.cursor });
}

const META = "x-r2-metadata";

function httpMetadata(headers: Headers): R2HTTPMetadata {
  const of = (name: string) => headers.get(name) ?? undefined;
  return given({
    contentType: of("content-type"),
    contentLanguage: of("content-language"),
    contentDisposition: of("content-disposition"),
    contentEncoding: of("x-r2-content-encoding"),
    cacheControl: of("cache-control"),
  }) as R2HTTPMetadata;
}

function described(object: R2Object): Record<string, unknown> {
  return {
    key: object.key,
    size: object.size,
    etag: object.etag,
    http_etag: object.httpEtag,
    version: object.version,
    last_modified: object.uploaded.toISOString(),
    http_metadata: object.httpMetadata ?? {},
    custom_metadata: object.customMetadata ?? {},
    storage_class: object.storageClass,
  };
}

function objectHeaders(object: R2Object): Headers {
  const headers = new Headers();
  object.writeHttpMetadata(headers);
  // Kept apart: as a real content-encoding it would make clients decode what was stored.
  const encoding = headers.get("content-encoding");
  headers.delete("content-encoding");
  if (encoding !== null) headers.set("x-r2-content-encoding", encoding);
  headers.set("etag", object.httpEtag);
  headers.set("last-modified", object.uploaded.toUTCString());
  headers.set("x-r2-size", String(object.size));
  headers.set(META, encodeURIComponent(JSON.stringify(object.customMetadata ?? {})));
  return headers;
}

async function r2(bucket: R2Bucket, { method, key, request }: Call): Promise<Response> {
  switch (method) {
    case "PUT": {
      const custom = request.headers.get(META);
      const customMetadata = custom === null ? {} : (JSON.parse(decodeURIComponent(custom)) as Record<string, string>);
      const put = await bucket.put(key, request.body ?? "", {
        httpMetadata: httpMetadata(request.headers),
        customMetadata,
      });
      return json(described(put));
    }
    case "HEAD": {
      const head = await bucket.head(key);
      return head === null ? new Response(null, { status: 404 }) : new Response(null, { headers: objectHeaders(head) });
    }
    case "GET": {
      const object = await bucket.get(key);
      return object === null ? missing("object") : new Response(object.body, { headers: objectHeaders(object) });
    }
    default:
      await bucket.delete(key);
      return json({ ok: true });
  }
}

async function r2List(bucket: R2Bucket, query: URLSearchParams): Promise<Response> {
  const page = await bucket.list(
    given({
      prefix: query.get("prefix") ?? undefined,
      limit: whole(query, "limit"),
      cursor: query.get("cursor") ?? undefined,
      delimiter: query.get("delimiter") ?? undefined,
      startAfter: query.get("start_after") ?? undefined,
      include: ["httpMetadata", "customMetadata"],
    }) as R2ListOptions,
  );
  return json({
    objects: page.objects.map(described),
    delimited_prefixes: page.delimitedPrefixes,
    truncated: page.truncated,
    cursor: page.truncated ? page.cursor : null,
  });
}

function status(message: string): number {
  const [, code] = /\b(4\d\d)\b/.exec(message) ?? [];
  return code === undefined ? 500 : Number(code);
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    if (!fromHost(request, env)) return refused();
    const url = new URL(request.url);
    const [, kind, id = ""] = url.pathname.split("/");
    const target = env[`${kind}:${decodeURIComponent(id)}`];
    if (target === undefined) return missing(kind === "kv" ? "namespace" : "bucket");
    const encoded = request.headers.get("x-key");
    try {
      if (encoded === null) return await (kind === "kv" ? kvList : r2List)(target as never, url.searchParams);
      const call = { method: request.method, key: decodeURIComponent(encoded), query: url.searchParams, request };
      return await (kind === "kv" ? kv : r2)(target as never, call);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return json({ error: { code: status(message), message } }, status(message));
    }
  },
};
