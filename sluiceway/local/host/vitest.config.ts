import { defineConfig } from "vitest/config";

/** The host's pure parts; what needs the real process is tested from tests/local/host. */
export default defineConfig({
  test: { name: "host", root: import.meta.dirname, include: ["**/*.test.ts"], environment: "node" },
});
