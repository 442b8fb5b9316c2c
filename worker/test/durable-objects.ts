/** The Durable Objects of a stage by their bindings, as miniflare takes them. */
export const DURABLE_OBJECTS = {
  ROLLOUTS: { className: "RolloutController", useSQLite: true },
  KEYS: { className: "KeyRing", useSQLite: true },
  LEDGER: { className: "Ledger", useSQLite: true },
  CONVERSATIONS: { className: "Conversation", useSQLite: true },
};
