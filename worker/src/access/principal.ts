import type { Budget } from "../config-policies.ts";

/** Who calls, and what that caller may do. Null means no limit of its own: the stage's stand. */
export interface Principal {
  /** Keeps one caller's answers, limits and sums apart from another's: a digest or a subject, never a secret. */
  readonly tenant: string;
  /** How the caller proved itself. */
  readonly via: "nobody" | "stage-key" | "key" | "jwt" | "access" | "probe";
  /** Id of the key for logs; the secret can't be told from it. */
  readonly keyId: string | null;
  readonly name: string | null;
  readonly owner: string | null;
  readonly team: string | null;
  readonly models: readonly string[] | null;
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly budgets: readonly Budget[];
}

/** A caller of a stage that asks for no key. */
export const NOBODY: Principal = {
  tenant: "anonymous",
  via: "nobody",
  keyId: null,
  name: null,
  owner: null,
  team: null,
  models: null,
  requestsPerMinute: null,
  tokensPerMinute: null,
  budgets: [],
};
