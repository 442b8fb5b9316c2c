import { cloudflareTest } from "@cloudflare/vitest-pool-workers";
import { defineConfig } from "vitest/config";

/** Tests of the gateway run inside workerd, with the platform's own KV, R2 and Durable Objects in memory. */
export default defineConfig({
  plugins: [
    cloudflareTest({
      main: "./worker/test/support/main.ts",
      miniflare: {
        compatibilityDate: "2026-07-01",
        compatibilityFlags: ["enable_request_signal"],
        kvNamespaces: ["CACHE"],
        r2Buckets: ["MODELS"],
        durableObjects: { ROLLOUTS: { className: "RolloutController", useSQLite: true } },
        ratelimits: { RATE_LIMIT: { namespace_id: "1001", simple: { limit: 5, period: 60 } } },
        queueProducers: { EVENTS: "test-events" },
        bindings: { API_KEY: "test-key", VERSION: { id: "11111111-test", tag: "", timestamp: "" } },
        analyticsEngineDatasets: { METRICS: { dataset: "test" } },
        cf: false,
      },
    }),
  ],
  test: {
    include: ["worker/**/*.test.ts"],
  },
});
