/** The scripts that the host itself runs in workerd, from the folder `inside`, with their types taken off. */

import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";

export interface Script {
  readonly type: "ESModule";
  readonly path: string;
  readonly contents: string;
}

function one(name: string): Script {
  const source = readFileSync(new URL(`inside/${name}`, import.meta.url), "utf8");
  return { type: "ESModule", path: `/${name}`, contents: stripTypeScriptTypes(source) };
}

const several = (...names: string[]): Script[] => names.map(one);

export const SCRIPTS = {
  router: several(
    ...[
      "router.ts",
      "drain.ts",
      "edge.ts",
      "limit.ts",
      "expression.ts",
      "match.ts",
      "pick.ts",
      "secret.ts",
      "table.ts",
    ],
  ),
  admin: several("admin.ts", "secret.ts", "table.ts"),
  tail: several("tail.ts"),
  analytics: several("analytics.ts"),
} as const;

/** What the host's scripts run under; the user's versions have their own dates. */
export const COMPATIBILITY_DATE = "2026-07-01";
