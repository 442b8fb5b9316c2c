import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";
import { DURABLE_OBJECTS } from "./worker/test/durable-objects.ts";

/** The platform as the gateway's tests have it: workerd's own KV, R2 and Durable Objects, in memory. */
const miniflare = {
  compatibilityDate: "2026-07-01",
  compatibilityFlags: ["enable_request_signal"],
  kvNamespaces: ["CACHE"],
  r2Buckets: ["MODELS"],
  durableObjects: DURABLE_OBJECTS,
  ratelimits: { RATE_LIMIT: { namespace_id: "1001", simple: { limit: 5, period: 60 as const } } },
  queueProducers: { EVENTS: "test-events" },
  bindings: {
    API_KEY: "test-key",
    BUDGET_WEBHOOK: "https://hooks.test/budget",
    VERSION: { id: "11111111-test", tag: "", timestamp: "" },
  },
  analyticsEngineDatasets: { METRICS: { dataset: "test" } },
  cf: false as const,
};

/** Minutes of processor and no platform at all: they run beside the ones that wait for workerd. */
const SIMULATED = "worker/src/rollout/live-shaped*.test.ts";

export default defineConfig({
  test: {
    // A test that hangs fails; one on a machine that is busy, ten times as slow as by itself, does not.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
    provide: { long: process.env.SLUICEWAY_TEST_ALL === "1" },
    projects: [
      {
        extends: true,
        plugins: [cloudflareTest({ main: "./worker/test/support/main.ts", miniflare })],
        test: {
          name: "workerd",
          include: ["worker/src/**/*.test.ts"],
          exclude: [SIMULATED],
          // A runtime for each file would take most of the time.
          isolate: false,
          maxWorkers: 1,
          setupFiles: ["./worker/test/support/each-file.ts"],
        },
      },
      {
        extends: true,
        test: { name: "simulated", include: [SIMULATED], environment: "node" },
      },
      {
        extends: true,
        test: { name: "bundle", include: ["worker/test/**/*.test.ts"], environment: "node" },
      },
      {
        extends: true,
        test: { name: "inference", include: ["inference/test/**/*.test.ts"], environment: "node" },
      },
      {
        extends: true,
        test: { name: "host", include: ["sluiceway/local/host/**/*.test.ts"], environment: "node" },
      },
    ],
  },
});
