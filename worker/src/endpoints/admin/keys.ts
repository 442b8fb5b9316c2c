import type { KeyChange, KeyPage } from "../../access/key-ring.ts";
import { newKey } from "../../access/key-text.ts";
import type { KeyRecord, KeySpec } from "../../access/keys.ts";
import { parseJsonObject } from "../../chat/json-body.ts";
import { sha256Hex } from "../../digest.ts";
import { ApiError, badRequest } from "../../errors.ts";
import type { GatewayContext } from "../../gateway.ts";
import { parseModel } from "../../routing/route.ts";
import { json } from "../json.ts";
import { keyView, readGrace, readKeySpec } from "./key-body.ts";

const PAGE = 100;
const MOST = 1_000;

interface Ring {
  lookup(id: string): Promise<KeyRecord | null>;
  create(id: string, spec: KeySpec, sha256: string, now: number): Promise<KeyChange>;
  rotate(id: string, sha256: string, graceMs: number, now: number): Promise<KeyChange>;
  revoke(id: string, now: number): Promise<KeyChange>;
  list(after: number, limit: number): Promise<KeyPage>;
}

/** `POST /keys`: a new key. Its text, `key`, is in this answer and nowhere else. */
export async function createKey(c: GatewayContext): Promise<Response> {
  const gateway = c.get("gateway");
  const now = gateway.ambient.now();
  const spec = readKeySpec(parseJsonObject(await c.get("readBody")()), (model) => serves(c, model), now);
  const { id, text } = newKey();
  // The text stays here: the ring gets its digest.
  const key = kept(await ask(c, async (ring) => ring.create(id, spec, await sha256Hex(text), now)));
  note(c, "created", key);
  return json(c, { key: text, ...keyView(key, now) }, 201);
}

/** `GET /keys?after=&limit=`: all keys, closed ones too, in the order in which they were made. */
export async function listKeys(c: GatewayContext): Promise<Response> {
  const after = wholeNumber(c.req.query("after") ?? "0", "after", 0, Number.MAX_SAFE_INTEGER);
  const limit = wholeNumber(c.req.query("limit") ?? String(PAGE), "limit", 1, MOST);
  const page = await ask(c, (ring) => ring.list(after, limit));
  const now = c.get("gateway").ambient.now();
  return json(c, { data: page.keys.map((key) => keyView(key, now)), next: page.next });
}

/** `GET /keys/{id}`. */
export async function getKey(c: GatewayContext): Promise<Response> {
  const id = idOf(c);
  const key = await ask(c, (ring) => ring.lookup(id));
  if (key === null) throw keyNotFound(id);
  return json(c, keyView(key, c.get("gateway").ambient.now()));
}

/** `POST /keys/{id}/rotate`: a new secret; the old one stays good for `grace_seconds`. */
export async function rotateKey(c: GatewayContext): Promise<Response> {
  const now = c.get("gateway").ambient.now();
  const body = await c.get("readBody")();
  const graceMs = readGrace(body.byteLength === 0 ? {} : parseJsonObject(body));
  const { id, text } = newKey(idOf(c));
  const key = kept(await ask(c, async (ring) => ring.rotate(id, await sha256Hex(text), graceMs, now)));
  note(c, "rotated", key);
  return json(c, { key: text, ...keyView(key, now) });
}

/** `POST /keys/{id}/revoke`: closed for good, within 2 s everywhere. A second time changes nothing. */
export async function revokeKey(c: GatewayContext): Promise<Response> {
  const now = c.get("gateway").ambient.now();
  const key = kept(await ask(c, (ring) => ring.revoke(idOf(c), now)));
  note(c, "revoked", key);
  return json(c, keyView(key, now));
}

async function ask<T>(c: GatewayContext, work: (ring: Ring) => Promise<T>): Promise<T> {
  try {
    return await work(c.env.KEYS.getByName(c.get("gateway").config.stage) as unknown as Ring);
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    const message = "The stage's keys can't be reached right now; whether this was done is not known. List the keys.";
    throw new ApiError(503, "keys_unavailable", message, { headers: { "retry-after": "2" }, cause });
  }
}

function kept(change: KeyChange): KeyRecord {
  if ("key" in change) return change.key;
  const { fault, id } = change;
  if (fault === "unknown") throw keyNotFound(id);
  if (fault === "closed") {
    throw new ApiError(409, "key_closed", `The key ${id} is revoked or expired; make a new one.`);
  }
  const message = `The active key ${id} has this name: rotate or revoke it, or take another name.`;
  throw new ApiError(409, "key_exists", message, { param: "name" });
}

function keyNotFound(id: string): ApiError {
  return new ApiError(404, "key_not_found", `There is no key ${id}.`);
}

function idOf(c: GatewayContext): string {
  const id = c.req.param("id") ?? "";
  if (!/^[0-9a-z]{12}$/.test(id)) throw keyNotFound(id.slice(0, 40));
  return id;
}

/** Whether the stage has the model (`chat`) or the version (`chat@2`). */
function serves(c: GatewayContext, wanted: string): boolean {
  const { name, version } = parseModel(wanted);
  const { models } = c.get("gateway").config;
  const found = Object.hasOwn(models, name) ? models[name] : undefined;
  return found !== undefined && (version === null || Object.hasOwn(found.versions, String(version)));
}

/** A whole number of a query. Throws the 400. */
export function wholeNumber(text: string, name: string, least: number, most: number): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw badRequest(`\`${name}\` must be a whole number from ${least} to ${most}.`, name);
}

/** Changes of keys are for the log: who had access, and since when. */
function note(c: GatewayContext, change: string, { id, name, owner, team }: KeyRecord): void {
  const gateway = c.get("gateway");
  const record = c.get("record");
  gateway.ambient.log(
    JSON.stringify({ event: "key", level: "info", id: record.id, change, key_id: id, name, owner, team }),
  );
}
