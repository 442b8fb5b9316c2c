/** Which version of a Worker answers: an override, else a sticky key, else chance. */

import type { Share, WorkerEntry } from "./table.ts";

/** `point` in [0, 100). Undefined when nothing has a share. */
export function byPoint(split: readonly Share[], point: number): string | undefined {
  let edge = 0;
  for (const share of split) {
    edge += share.percentage;
    if (point < edge) return share.id;
  }
  return split.findLast((share) => share.percentage > 0)?.id;
}

/** `<worker>="<version id>"` of the header's dictionary, when that version is deployed; else undefined, as on Cloudflare. */
export function override(header: string | null, script: string, entry: WorkerEntry): string | undefined {
  if (header === null) return undefined;
  for (const member of header.split(",")) {
    const [, name, id] = /^\s*"?([^"=\s]+)"?\s*=\s*"([^"]*)"/.exec(member) ?? [];
    if (name === script) return entry.split.find((share) => share.id === id)?.id;
  }
  return undefined;
}

/** A point in [0, 100) that only the key decides. */
export async function keyPoint(key: string): Promise<number> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  return (new DataView(digest).getUint32(0) / 2 ** 32) * 100;
}

export async function pick(
  entry: WorkerEntry,
  script: string,
  headers: Headers,
  random: number,
): Promise<string | undefined> {
  const forced = override(headers.get("cloudflare-workers-version-overrides"), script, entry);
  if (forced !== undefined) return forced;
  const key = headers.get("cloudflare-workers-version-key");
  return byPoint(entry.split, key === null ? random * 100 : await keyPoint(key));
}
