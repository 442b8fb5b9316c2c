import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { GateView, JournalEntry, RolloutView } from "../src/rollout/types.ts";

export const PAGE = "/_sluiceway/rollouts/dashboard";

export function gateOf(changes: Partial<GateView> = {}): GateView {
  return {
    ...{ name: "errors", mode: "enforce", margin: 0.02, slo: null, verdict: "inconclusive", reason: "inconclusive" },
    ...{ stable: { requests: 900, bad: 9 }, candidate: { requests: 100, bad: 1 } },
    ...{ difference: [-0.03, 0.05], failing: 0.1, passing: 0.6 },
    ...changes,
  };
}

export function viewOf(model: string, changes: Partial<RolloutView> = {}): RolloutView {
  const steps = [1, 10, 50, 100].map((weight) => ({ weight, hold_s: 600, approval: false, margins: {} }));
  return {
    ...{ model, phase: "stepping", paused_from: null, strategy: "canary", stable: 1, candidates: [2] },
    ...{
      weights: [[1, 90] as const, [2, 10] as const],
      step: 1,
      steps,
      since: Date.now(),
      until: Date.now() + 600_000,
    },
    ...{
      waiting: `${model}: errors have not passed yet.`,
      platform: false,
      gates: [gateOf()],
      readout: [],
      figures: null,
      held: false,
    },
    ...{ spec_digest: "d", order: "o", revision: 7, release: "r-0123456789ab" },
    ...changes,
  };
}

type Command = { path: string; body: Record<string, unknown> };

/**
 * A stage with rollouts to look at: whom to let in is decided by the real Worker, who is asked each time; the rollouts
 * themselves are made up here, so that a test can have any.
 */
export class FakeRollouts {
  readonly views = new Map<string, RolloutView>();
  readonly entries: JournalEntry[] = [];
  /** The changes that the Worker let through. */
  readonly commands: Command[] = [];
  readonly statuses: number[] = [];
  away = false;
  readonly #worker: URL;
  readonly #server: Server = createServer((asked, answer) => void this.#serve(asked, answer));

  constructor(worker: URL) {
    this.#worker = worker;
  }

  async start(): Promise<URL> {
    await new Promise<void>((done) => this.#server.listen(0, "127.0.0.1", done));
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  set(view: RolloutView): void {
    this.views.set(view.model, view);
  }

  tell(model: string, sentence: string, changes: Partial<JournalEntry> = {}): void {
    const { phase, weights, release } = this.views.get(model) ?? viewOf(model);
    const number = this.entries.length + 1;
    const head = { number, at: Date.now() - 60_000 + number * 1_000, model, kind: "step", sentence } as const;
    this.entries.push({ ...head, phase, weights, release, cause: "clock", gates: [], ...changes });
  }

  async #serve(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of asked) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    if (this.away) return void answer.destroy();
    const { status, headers, text } = await this.#letIn(asked, body);
    this.statuses.push(status);
    const { pathname, searchParams } = new URL(asked.url ?? "/", "http://host");
    if (pathname === PAGE || status === 401 || status === 403) return void answer.writeHead(status, headers).end(text);
    const [told, made] = this.#answer(pathname, searchParams, body);
    answer.writeHead(told, { "content-type": "application/json" }).end(JSON.stringify(made));
  }

  #letIn(asked: IncomingMessage, body: Buffer) {
    type Answer = { status: number; headers: IncomingMessage["headers"]; text: Buffer };
    return new Promise<Answer>((done, failed) => {
      const { hostname, port } = this.#worker;
      const path = asked.url ?? "/";
      const up = request({ hostname, port, path, method: asked.method, headers: asked.headers, setHost: false });
      up.on("error", failed);
      up.on("response", async (response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of response) chunks.push(chunk as Buffer);
        const { "transfer-encoding": _, ...headers } = response.headers;
        done({ status: response.statusCode ?? 0, headers, text: Buffer.concat(chunks) });
      });
      up.end(body);
    });
  }

  #answer(path: string, params: URLSearchParams, body: Buffer): [status: number, made: object] {
    const [, , , model = "", command] = path.split("/").map(decodeURIComponent);
    if (model === "") {
      return [
        200,
        { stage: "test", revision: 7, order: "o", release: "r-0123456789ab", models: [...this.views.values()] },
      ];
    }
    if (model === "journal") {
      return [200, { entries: this.entries.filter(({ number }) => number > Number(params.get("after"))), next: null }];
    }
    const view = this.views.get(model);
    const sent = JSON.parse(body.toString()) as Record<string, unknown>;
    if (view === undefined) return [404, { error: { code: "model_not_found", message: "No such model." } }];
    if (sent.expect !== view.revision) {
      return [
        409,
        { error: { code: "revision_moved", message: `${model} has moved since then.`, hint: "Look once more." } },
      ];
    }
    this.commands.push({ path, body: sent });
    const revision = view.revision + 1;
    if (command === "pause") this.set({ ...view, revision, phase: "paused", paused_from: view.phase, until: null });
    if (command === "resume") this.set({ ...view, revision, phase: view.paused_from ?? "stepping", paused_from: null });
    if (command === "promote")
      this.set({ ...view, revision, phase: "watching", weights: [[1, 1] as const, [2, 99] as const] });
    if (command === "rollback")
      this.set({ ...view, revision, phase: "aborted", weights: [[1, 100] as const], until: null });
    this.tell(model, `${model}: ${command} by ${sent.actor}.`, { cause: `person:${sent.actor}` });
    return [200, this.views.get(model) as RolloutView];
  }
}
