import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { Miniflare } from "miniflare";
import { DURABLE_OBJECTS } from "./durable-objects.ts";

type Json = Record<string, unknown>;
type Reply = (response: ServerResponse, asked: { inputs: Json; headers: IncomingMessage["headers"] }) => void;

/**
 * Where the AI binding's calls end up: an HTTP server on loopback. Miniflare passes them on with the headers of the
 * binding under `mf-header-`.
 */
export class AiServer {
  readonly calls: { inputs: Json; options: Json; headers: IncomingMessage["headers"]; closed: boolean }[] = [];
  reply: Reply = (response) => response.writeHead(200, { "content-type": "application/json" }).end('{"response":"ok"}');
  readonly #server: Server = createServer((request, response) => void this.#serve(request, response));

  async start(): Promise<URL> {
    await new Promise<void>((done) => this.#server.listen(0, "127.0.0.1", done));
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // The binding tries a WebSocket first and falls back to plain requests.
    if (request.method !== "POST") return void response.writeHead(400).end();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { inputs, options } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { inputs: Json; options: Json };
    const call = { inputs, options, headers: request.headers, closed: false };
    this.calls.push(call);
    response.on("close", () => {
      call.closed = !response.writableFinished;
    });
    this.reply(response, { inputs, headers: request.headers });
  }
}

export interface BundledStage {
  readonly mf: Miniflare;
  readonly url: URL;
  readonly bundle: string;
  /** What the Worker has logged so far. */
  readonly lines: string[];
}

/** Bundles the gateway as a stage does, with its config beside it, and runs it in workerd with the real AI binding. */
export async function startBundled(config: Json, ai: URL): Promise<BundledStage> {
  const bundle = await bundleGateway();
  const lines: string[] = [];
  const mf = new Miniflare({
    modules: [
      { type: "ESModule", path: "index.js", contents: bundle },
      { type: "Text", path: "config.json", contents: JSON.stringify(config) },
    ],
    compatibilityDate: "2026-07-01",
    compatibilityFlags: ["enable_request_signal"],
    ai: { binding: "AI", remoteProxyConnectionString: ai as never },
    kvNamespaces: ["CACHE"],
    r2Buckets: ["MODELS"],
    durableObjects: DURABLE_OBJECTS,
    ratelimits: { RATE_LIMIT: { namespace_id: "1001", simple: { limit: 1_000_000, period: 60 } } },
    bindings: {
      API_KEY: "test-key",
      ADMIN_KEY: "test-admin-key-0123456789",
      VERSION: { id: "v-1", tag: "", timestamp: "" },
    },
    analyticsEngineDatasets: { METRICS: { dataset: "test" } },
    cf: false,
    handleRuntimeStdio: (stdout, stderr) => {
      createInterface(stdout).on("line", (line) => lines.push(line));
      stderr.resume();
    },
  });
  return { mf, url: await mf.ready, bundle, lines };
}

/** The gateway's code as a stage uploads it. */
export async function bundleGateway(plugins: Plugin[] = []): Promise<string> {
  const root = fileURLToPath(new URL("..", import.meta.url));
  const contents = `
    import { createGateway } from "./src/index.ts";
    import config from "./config.json";
    export { Conversation, KeyRing, Ledger, RolloutController } from "./src/index.ts";
    export default createGateway(config);`;
  const result = await build({
    stdin: { contents, resolveDir: root, loader: "ts" },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2023",
    platform: "neutral",
    conditions: ["workerd", "browser"],
    mainFields: ["module", "main"],
    external: ["./config.json", "cloudflare:*"],
    plugins,
  });
  return result.outputFiles[0]?.text ?? "";
}
